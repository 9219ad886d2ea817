// What a person does without an administrator: registers, waits for mails, follows links, sets passwords.
// It must not assert beyond what the next step needs.
import type { Answer, TestClient } from '../client.ts';
import { eventually, newEmail, PASSWORD, type TestMail, type TestService } from '../harness.ts';

export const paths = {
  register: '/api/v1/auth/register',
  verify: '/api/v1/auth/verify-email',
  decline: '/api/v1/auth/registration/decline',
  check: '/api/v1/auth/links/check',
  resend: '/api/v1/auth/resend-verification-email',
  requestReset: '/api/v1/auth/password-reset/request',
  confirmReset: '/api/v1/auth/password-reset/confirm',
  undoDeletion: '/api/v1/auth/undo-deletion',
  acceptInvitation: '/api/v1/auth/accept-invitation',
  changeEmail: '/api/v1/users/me/email',
  confirmEmail: '/api/v1/auth/confirm-email-change',
  undoEmail: '/api/v1/auth/revert-email-change',
  changePassword: '/api/v1/auth/change_password',
  refresh: '/api/v1/auth/refresh',
  me: '/api/v1/users/me',
} as const;

/** Passwords that satisfy every rule and have nothing in common. */
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

const newRegistration = () => ({
  email: newEmail(),
  password: PASSWORD,
  first_name: 'Ada',
  last_name: 'Lovelace',
});

/** Returns a valid body for a registration; `over` replaces or adds fields, also with values of a wrong type. */
export const registration = (over: Record<string, unknown> = {}) => ({ ...newRegistration(), ...over });

/** Registers an account. Returns it, still unverified, with the token of its verification mail. */
export async function registerAccount(
  service: TestService,
  over: Partial<ReturnType<typeof newRegistration>> = {},
): Promise<{ id: string; email: string; password: string; token: string }> {
  const body = { ...newRegistration(), ...over };
  const answer = await service.client().post(paths.register, body);
  if (answer.status !== 201) throw new Error(`register answered ${answer.status}: ${answer.text}`);
  const token = await linkTo(service, body.email, 'verification');
  return { id: answer.body.data.id, email: body.email, password: body.password, token };
}

/** Returns the mails of one kind that were sent to this email so far, oldest first. */
export const mailsTo = (service: TestService, email: string, kind: string): TestMail[] =>
  service.mails().filter((mail) => mail.to === email && mail.kind === kind);

/** Waits for a mail of this kind and returns its token. `after` skips that many earlier mails. */
export async function linkTo(
  service: TestService,
  email: string,
  kind:
    | 'verification'
    | 'password_reset'
    | 'invitation'
    | 'email_change'
    | 'email_changed'
    | 'deletion_planned',
  after = 0,
): Promise<string> {
  const mail = await eventually(() => mailsTo(service, email, kind)[after], `${kind} ${after} to ${email}`);
  if (mail.token === null) throw new Error(`the mail to ${email} has no link`);
  return mail.token;
}

/** Requests a password reset and returns the token of its mail. */
export async function resetLink(service: TestService, email: string): Promise<string> {
  const before = mailsTo(service, email, 'password_reset').length;
  await service.client().post(paths.requestReset, { email });
  return linkTo(service, email, 'password_reset', before);
}

/** Asks for a new address with PASSWORD, and returns the token of the mail to it. */
export async function requestEmailChange(
  service: TestService,
  client: TestClient,
  newEmail: string,
): Promise<string> {
  const before = mailsTo(service, newEmail, 'email_change').length;
  const answer = await client.post(paths.changeEmail, { new_email: newEmail, current_password: PASSWORD });
  if (answer.status !== 202) throw new Error(`the request answered ${answer.status}: ${answer.text}`);
  return linkTo(service, newEmail, 'email_change', before);
}

/** Changes the address of the client's account to a new one. Returns the token of the mail to the former one, which undoes it. */
export async function changeEmail(
  service: TestService,
  client: TestClient,
  from: string,
  to: string,
): Promise<string> {
  const before = mailsTo(service, from, 'email_changed').length;
  const token = await requestEmailChange(service, client, to);
  const answer = await service.client().post(paths.confirmEmail, { token });
  if (answer.status !== 200) throw new Error(`the confirmation answered ${answer.status}: ${answer.text}`);
  return linkTo(service, from, 'email_changed', before);
}

export const confirmReset = (client: TestClient, token: string, password: string): Promise<Answer> =>
  client.post(paths.confirmReset, { token, new_password: password });

/** Waits until no mail is pending. A mail that was not sent by then will not be sent. */
export async function waitForEmptyOutbox(service: TestService): Promise<void> {
  await eventually(async () => {
    const waiting = await service.sql('select from outbox where sent_at is null and failed_at is null');
    return waiting.length === 0 || undefined;
  }, 'the outbox to have no pending mail');
}

/** Runs `act` for `count` new browsers at the same time. All of them have their CSRF token before the first one runs. */
export async function atOnce<T>(
  service: TestService,
  count: number,
  act: (client: TestClient, index: number) => Promise<T>,
): Promise<T[]> {
  const clients = Array.from({ length: count }, () => service.client());
  // A first request opens each connection and fetches the CSRF token.
  await Promise.all(clients.map((client) => client.post('/api/v1/auth/verify-email', { token: 'none' })));
  return Promise.all(clients.map(act));
}

/** Counts the answers by status. */
export function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
