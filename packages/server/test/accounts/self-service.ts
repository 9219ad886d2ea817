// What a person does alone: registers, waits for mails, follows links, sets passwords.
// It must not assert beyond what the next step needs.
import type { Answer, TestClient } from '../client.ts';
import { eventually, newEmail, PASSWORD, type TestMail, type TestService } from '../harness.ts';

export const paths = {
  register: '/api/v1/auth/register',
  verify: '/api/v1/auth/verify-email',
  resend: '/api/v1/auth/resend-verification-email',
  requestReset: '/api/v1/auth/password-reset/request',
  confirmReset: '/api/v1/auth/password-reset/confirm',
  changePassword: '/api/v1/auth/change_password',
  refresh: '/api/v1/auth/refresh',
  me: '/api/v1/users/me',
} as const;

/** Passwords that keep every rule and have nothing in common. */
export const strongPasswords = [
  'Marble?Tundra61Fox',
  'Copper+Violin95Moss',
  'Walnut*Beacon74Surf',
  'Pewter=Saddle36Gull',
  'Indigo~Parcel83Wren',
  'Cobalt/Meadow59Knot',
  'Saffron:Ladder62Pike',
  'Thicket!Orbit47Jade',
] as const;

export const registration = (over: Record<string, unknown> = {}) => ({
  email: newEmail(),
  password: PASSWORD,
  first_name: 'Ada',
  last_name: 'Lovelace',
  ...over,
});

/** A registered account that is not verified yet, and the token of its mail. */
export async function registerAccount(
  service: TestService,
  over: Record<string, unknown> = {},
): Promise<{ id: string; email: string; password: string; token: string }> {
  const body = registration(over);
  const answer = await service.client().post(paths.register, body);
  if (answer.status !== 201) throw new Error(`register answered ${answer.status}: ${answer.text}`);
  const token = await linkTo(service, body.email as string, 'verification');
  return { id: answer.body.data.id, email: body.email as string, password: body.password as string, token };
}

/** Mails of one kind to this address so far, oldest first. */
export const mailsTo = (service: TestService, email: string, kind: string): TestMail[] =>
  service.mails().filter((mail) => mail.to === email && mail.kind === kind);

/** The token of the `after`th mail of this kind (0 is the first). */
export async function linkTo(
  service: TestService,
  email: string,
  kind: 'verification' | 'password_reset',
  after = 0,
): Promise<string> {
  const mail = await eventually(() => mailsTo(service, email, kind)[after], `${kind} ${after} to ${email}`);
  if (mail.token === null) throw new Error(`the mail to ${email} has no link`);
  return mail.token;
}

/** Asks for a reset mail and waits for its token. */
export async function resetLink(service: TestService, email: string): Promise<string> {
  const before = mailsTo(service, email, 'password_reset').length;
  await service.client().post(paths.requestReset, { email });
  return linkTo(service, email, 'password_reset', before);
}

export const confirmReset = (client: TestClient, token: string, password: string): Promise<Answer> =>
  client.post(paths.confirmReset, { token, new_password: password });

/** Until no mail waits: what is not sent by then was not meant to be sent. */
export async function outboxSettled(service: TestService): Promise<void> {
  await eventually(async () => {
    const waiting = await service.sql('select from outbox where sent_at is null and failed_at is null');
    return waiting.length === 0 || undefined;
  }, 'the outbox to have nothing to send');
}

/** All of these at once, each by a browser of its own that is ready to send before any does. */
export async function atOnce<T>(
  service: TestService,
  count: number,
  act: (client: TestClient, index: number) => Promise<T>,
): Promise<T[]> {
  const clients = Array.from({ length: count }, () => service.client());
  // A first request opens each connection and fetches what a POST needs.
  await Promise.all(clients.map((client) => client.post('/api/v1/auth/verify-email', { token: 'none' })));
  return Promise.all(clients.map(act));
}

/** How often each status came. */
export function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
