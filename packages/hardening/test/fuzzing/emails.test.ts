// Spellings of email addresses at every operation that takes one: none reaches an account but the one that it clearly
// names, and none injects anything into a mail. It must not ask the service which email a text names.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { domainToASCII } from 'node:url';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, eventually, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { startSmtpSink } from '@castellan/testing/smtp-sink';
import { addPerson } from '@castellan/testing/users/people';
import fc from 'fast-check';
import { knownSpellings, plainly, spellingOf } from './spellings.ts';
import { seed } from './target.ts';
import { assertCleanLog } from './traces.ts';

const scenario = scenariosOf('fuzzing');
const sink = await startSmtpSink();
const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', ACCOUNT_LOCKOUT_ATTEMPTS: '1000', SMTP_URL: sink.url() },
);
after(() => sink.close());
const admin = await signIn(service, ADMIN);
const browser = service.client();
// Emails with letters that have look-alikes, one that only the dotless i could reach, and one without such letters.
const victims = ['kim.silas@example.com', 'admin-desk@mail.example.org', 'o@x.example'];
const ids = new Map<string, string>();
for (const email of victims) ids.set(email, (await addPerson(service, { email, firstName: 'Victim' })).id);

const names = { first_name: 'Ada', last_name: 'Lovelace' };
const describe = (way: string, text: string, answer: Answer): string =>
  `HARDENING_SEED=${seed}: ${way} with ${JSON.stringify(text)}: ${answer.status} ${answer.text.slice(0, 500)}`;

/** Returns the id of the account that this text names; null if it names none. */
async function ownerOf(text: string): Promise<string | null> {
  const email = plainly(text);
  const rows =
    email === null ? [] : await service.sql<{ id: string }>('select id from users where email = $1', [email]);
  return rows[0]?.id ?? null;
}

/** Each sends the text to one operation and checks the result. */
const ways: Readonly<Record<string, (text: string) => Promise<void>>> = {
  async login(text) {
    const owner = await ownerOf(text);
    const client = service.client();
    const answer = await client.login({ email: text, password: PASSWORD });
    if (answer.status === 200) assert.equal(answer.body.data.user.id, owner, describe('login', text, answer));
    else assert.ok([400, 422].includes(answer.status), describe('login', text, answer));
    if (victims.includes(plainly(text) ?? ''))
      assert.equal(answer.status, 200, describe('login', text, answer));
  },
  async register(text) {
    const owner = await ownerOf(text);
    const answer = await browser.post('/api/v1/auth/register', { email: text, password: PASSWORD, ...names });
    if (owner) assert.equal(answer.status, 409, describe('register', text, answer));
    else if (answer.status === 201)
      assert.equal(plainly(answer.body.data.email), plainly(text), describe('register', text, answer));
    else assert.equal(answer.status, 400, describe('register', text, answer));
  },
  async reset(text) {
    const answer = await browser.post('/api/v1/auth/password-reset/request', { email: text });
    assert.ok(answer.status === 200 || answer.status === 400, describe('reset', text, answer));
    if (plainly(text) === null) assert.equal(answer.status, 400, describe('reset', text, answer));
  },
  async resend(text) {
    const answer = await browser.post('/api/v1/auth/resend-verification-email', { email: text });
    assert.ok(answer.status === 200 || answer.status === 400, describe('resend', text, answer));
    if (plainly(text) === null) assert.equal(answer.status, 400, describe('resend', text, answer));
  },
  async create(text) {
    const owner = await ownerOf(text);
    const answer = await admin.post('/api/v1/users', { email: text, password: PASSWORD, ...names });
    if (owner) assert.equal(answer.status, 409, describe('create', text, answer));
    else if (answer.status === 201)
      assert.equal(plainly(answer.body.data.email), plainly(text), describe('create', text, answer));
    else assert.equal(answer.status, 400, describe('create', text, answer));
  },
  async update(text) {
    const owner = await ownerOf(text);
    const { id, email } = await addPerson(service);
    const bodies = [
      [`/api/v1/users/${id}`, { email: text }],
      ['/api/v1/users/bulk-update', { users: [{ id, email: text }] }],
    ] as const;
    for (const [path, body] of bodies) {
      const answer = await admin.put(path, body);
      const [row] = await service.sql<{ email: string }>('select email from users where id = $1', [id]);
      if (owner) assert.equal(answer.status, 409, describe('update', text, answer));
      else if (answer.status !== 200) assert.equal(answer.status, 400, describe('update', text, answer));
      assert.equal(
        row?.email,
        answer.status === 200 ? plainly(text) : email,
        describe('update', text, answer),
      );
    }
  },
  async filter(text) {
    const owner = await ownerOf(text);
    // An empty filter selects everything.
    if (text.trim() === '' || !text.isWellFormed() || text.length > 1_000) return;
    const answer = await admin.get(`/api/v1/users/list?email=${encodeURIComponent(text)}`);
    if (text.includes('\0')) return assert.equal(answer.status, 400, describe('filter', text, answer));
    assert.equal(answer.status, 200, describe('filter', text, answer));
    const found = answer.body.data.items.map((user: { id: string }) => user.id);
    assert.deepEqual(found, owner ? [owner] : [], describe('filter', text, answer));
  },
};

/** Checks that the accounts are unchanged and that only their owners got mails, one for each request. */
async function settle(tally: Tally): Promise<void> {
  for (const [email, id] of ids) {
    const [row] = await service.sql(
      'select email, first_name, is_active, verified, is_superuser from users where id = $1',
      [id],
    );
    assert.deepEqual(row, {
      email,
      first_name: 'Victim',
      is_active: true,
      verified: true,
      is_superuser: false,
    });
    await signIn(service, { email, password: PASSWORD });
  }
  await eventually(async () => {
    const [{ left } = {}] = await service.sql<{ left: number }>(
      'select count(*)::int as left from outbox where sent_at is null and failed_at is null',
    );
    return left === 0 ? true : undefined;
  }, 'the last mail to go out');
  const stored = await service.sql<{ email: string }>('select email from users');
  const known = new Set(stored.map(({ email }) => email));
  for (const mail of sink.mails) assertPlainMail(mail, known);
  tally.held(ids.size + 1 + sink.mails.length + assertCleanLog(service) + (await assertSound(service)));
}

const HEADERS: ReadonlySet<string> = new Set([
  'auto-submitted',
  'content-transfer-encoding',
  'content-type',
  'date',
  'from',
  'message-id',
  'mime-version',
  'subject',
  'to',
]);

function assertPlainMail({ raw, to }: { raw: string; to: string[] }, known: ReadonlySet<string>): void {
  const [head = ''] = raw.split('\r\n\r\n');
  // Undoes the folding of long fields (RFC 5322, 2.2.3).
  const fields = head.replaceAll(/\r\n[ \t]/g, ' ').split('\r\n');
  const of = (name: string) => fields.filter((field) => field.toLowerCase().startsWith(`${name}:`));
  assert.equal(to.length, 1, raw);
  // The sink's server shows internationalised domains (xn--…) decoded.
  const [local, domain = ''] = (to[0] as string).split('@');
  const address = `${local}@${domainToASCII(domain)}`;
  assert.ok(known.has(address), `a mail to ${to[0]}`);
  for (const field of fields) assert.ok(HEADERS.has(field.split(':')[0]?.toLowerCase() ?? ''), head);
  assert.deepEqual(of('to'), [`To: ${address}`], head);
  for (const name of ['from', 'subject', 'date', 'message-id']) assert.equal(of(name).length, 1, head);
}

for (const [way, take] of Object.entries(ways))
  scenario(
    `${way}: a spelling of an email address reaches only the account that it clearly names`,
    async (tally) => {
      for (const victim of victims.slice(0, rounds(1, 3)))
        for (const text of knownSpellings(victim)) {
          await take(text);
          tally.tried();
          tally.held();
        }
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...victims).chain(spellingOf), async (text) => {
          await take(text);
          tally.tried();
          tally.held();
        }),
        { seed, numRuns: rounds(10, 300) },
      );
      await settle(tally);
    },
  );

scenario(
  'every refused spelling at the login is in the audit log, without control characters',
  async (tally) => {
    const texts = [
      'a\0@example.com',
      '\ud800@example.com',
      'a\r\n@example.com',
      'a\u001b[31m@example.com',
      '<a@example.com>',
      'a\u0085@example.com',
    ];
    for (const text of texts) {
      const answer = await browser.post('/api/v1/auth/login', { email: text, password: PASSWORD });
      assert.equal(answer.status, 400, describe('login', text, answer));
      const events = await service.sql<{ action: string; details: { reason: string; email: string } }>(
        `select action, details from audit_logs where details->>'request_id' = $1`,
        [answer.headers.get('x-request-id')],
      );
      assert.deepEqual(
        events.map(({ action, details }) => [action, details.reason]),
        [['login_failed', 'sanitization']],
        describe('login', text, answer),
      );
      tally.tried();
      tally.held(2);
    }
    const exported = await admin.get('/api/v1/audit-logs/export');
    const [{ count } = {}] = await service.sql<{ count: number }>(
      'select count(*)::int as count from audit_logs',
    );
    const lines = exported.text.split('\n').filter((line) => line !== '');
    assert.equal(lines.length, count);
    for (const line of lines) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
      assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
      assert.equal(typeof JSON.parse(line).action, 'string');
    }
    tally.held(lines.length);
  },
);
