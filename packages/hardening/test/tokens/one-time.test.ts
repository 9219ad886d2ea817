// The tokens in mailed links: only the newest link for this purpose and email works, before it expires and in its exact
// spelling. Refused attempts do not affect it. It must not race uses of one link: see test/races/links.test.ts.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { linkTo, paths, registerAccount, resetLink } from '@castellan/testing/accounts/self-service';
import { type Answer, createClient } from '@castellan/testing/client';
import { PASSWORD, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { scenariosOf, type Tally } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { openPair } from '../fixture.ts';
import { assertUnrecorded } from './forgery-target.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after });
const NEW = 'Marble?Tundra61Fox';

const browsers = [service, twin].map(({ url }) => createClient(url));
let turn = 0;
function nextBrowser() {
  turn += 1;
  return browsers[turn % browsers.length] as (typeof browsers)[number];
}

type Use = (token: unknown) => Promise<Answer>;
const uses: Record<'verification' | 'reset', { use: Use; refusal: string }> = {
  verification: {
    use: (token) => nextBrowser().post(paths.verify, { token }),
    refusal: 'The verification link is invalid or has expired. Request a new one.',
  },
  reset: {
    use: (token) => nextBrowser().post(paths.confirmReset, { token, new_password: NEW }),
    refusal: 'The reset link is invalid or has expired. Request a new one.',
  },
};
type Purpose = keyof typeof uses;

function assertNoLink(answer: Answer, purpose: Purpose, what: string): void {
  assert.equal(answer.status, 400, `${what}: ${answer.text}`);
  const { request_id, ...body } = answer.body;
  assert.deepEqual(body, { code: `${purpose}_token_invalid`, detail: uses[purpose].refusal }, what);
  assert.equal(request_id, answer.headers.get('x-request-id'), what);
  assert.deepEqual(answer.headers.getSetCookie(), [], what);
}

async function assertRefused(tally: Tally, token: string, purpose: Purpose, what: string): Promise<void> {
  assertNoLink(await uses[purpose].use(token), purpose, `${what}, as ${purpose}`);
  tally.tried();
  tally.held();
}

/** Registers an account that is not verified. Returns it with its verification token and a reset token. */
async function openAccount() {
  const account = await registerAccount(service);
  return { ...account, reset: await resetLink(service, account.email) };
}

const hash = (token: string): Buffer => createHash('sha256').update(token).digest();
const misspellings: [string, (token: string) => string][] = [
  ['nothing', () => ''],
  ['one letter', () => 'x'],
  ['a token nobody was given', () => randomBytes(32).toString('base64url')],
  ['zeros', () => 'A'.repeat(43)],
  ['10,000 letters', () => 'x'.repeat(10_000)],
  ['a JWT', () => 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.AAAA'],
  ['SQL', () => "' or true --"],
  ['SQL wildcards', () => '%'],
  ['a UUID', () => '00000000-0000-4000-8000-000000000000'],
  ['its hash as stored', (token) => hash(token).toString('base64url')],
  ['its hash in hexadecimal', (token) => hash(token).toString('hex')],
  ['its hash as SQL writes it', (token) => `\\x${hash(token).toString('hex')}`],
  ['its first half', (token) => token.slice(0, 21)],
  ['all but its last character', (token) => token.slice(0, -1)],
  ['all but its first character', (token) => token.slice(1)],
  ['another last character', (token) => token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')],
  ['another first character', (token) => (token.startsWith('A') ? 'B' : 'A') + token.slice(1)],
  ['upper case', (token) => token.toUpperCase()],
  ['lower case', (token) => token.toLowerCase()],
  ['turned case of one letter', (token) => token.replace(/[a-z]/, (letter) => letter.toUpperCase())],
  ['padding', (token) => `${token}=`],
  ['standard base64', (token) => Buffer.from(token, 'base64url').toString('base64')],
  ['hexadecimal', (token) => Buffer.from(token, 'base64url').toString('hex')],
  ['a space before', (token) => ` ${token}`],
  ['a line end after', (token) => `${token}\n`],
  ['a full stop after, as in a sentence', (token) => `${token}.`],
  ['quotation marks', (token) => `"${token}"`],
  ['the whole link', (token) => `http://castellan.test/verify-email#token=${token}`],
  ['the fragment', (token) => `#token=${token}`],
  ['a percent-encoded letter', (token) => `%${token.charCodeAt(0).toString(16)}${token.slice(1)}`],
  ['a zero-width space', (token) => `${token}\u200b`],
  ['itself twice', (token) => token + token],
  ['itself in a list', (token) => `${token},${token}`],
];

scenario('only the exact spelling of a link verifies an email or sets a password', async (tally) => {
  const { id, email, token, reset, password } = await openAccount();
  const sent: string[] = [];
  for (const [what, change] of misspellings)
    for (const [purpose, real] of [
      ['verification', token],
      ['reset', reset],
    ] as const) {
      const wrong = change(real);
      // Fails for a token without letters of one case, which a change of case leaves equal: 1 in 10^9.
      assert.notEqual(wrong, real, what);
      sent.push(wrong);
      await assertRefused(tally, wrong, purpose, what);
    }
  const wrongTypes = [undefined, null, 42, true, [token], { $ne: '' }, { token }];
  for (const value of wrongTypes)
    for (const purpose of ['verification', 'reset'] as const) {
      const answer = await uses[purpose].use(value);
      assert.equal(answer.body.code, 'validation_failed', answer.text);
      tally.tried();
      tally.held();
    }
  const [user] = await service.sql('select verified from users where id = $1', [id]);
  assert.deepEqual(user, { verified: false });
  tally.held(1 + (await assertUnrecorded([service, twin], [0, 0], [...sent, token, reset])));
  // The real links still work.
  assert.equal((await uses.verification.use(token)).status, 200);
  assert.equal((await service.client().login({ email, password })).status, 200);
  assert.equal((await uses.reset.use(reset)).status, 200);
  assert.equal((await service.client().login({ email, password: NEW })).status, 200);
  tally.held(4);
});

scenario('a link for one purpose is refused for the other, and still works for its own', async (tally) => {
  const { id, email, token, reset } = await openAccount();
  for (let round = 0; round < 4; round += 1) {
    await assertRefused(tally, reset, 'verification', 'a reset link');
    await assertRefused(tally, token, 'reset', 'a verification link');
  }
  const rows = await service.sql('select used_at from one_time_tokens where user_id = $1', [id]);
  assert.deepEqual(rows, [{ used_at: null }, { used_at: null }]);
  assert.equal((await uses.verification.use(token)).status, 200);
  assert.equal((await uses.reset.use(reset)).status, 200);
  assert.equal((await service.client().login({ email, password: NEW })).status, 200);
  tally.held(4);
});

scenario(
  'a session token does not work as a link, and a link does not work as a session token',
  async (tally) => {
    const { token, reset } = await openAccount();
    const client = await signIn(service, await addUser(service));
    for (const session of [client.accessToken, client.refreshToken])
      for (const purpose of ['verification', 'reset'] as const)
        await assertRefused(tally, session as string, purpose, 'a session token');
    for (const link of [token, reset]) {
      const bearer = { headers: { authorization: `Bearer ${link}` } };
      assert.equal((await nextBrowser().get(paths.me, bearer)).body.code, 'token_invalid');
      const refreshed = await nextBrowser().post(paths.refresh, { refresh_token: link });
      assert.equal(refreshed.body.code, 'refresh_token_invalid');
      tally.tried(2);
      tally.held(2);
    }
    assert.equal((await client.get(paths.me)).status, 200);
    tally.held();
  },
);

type Account = Awaited<ReturnType<typeof openAccount>>;
const asAdmin = async (answer: Promise<Answer>): Promise<void> => {
  const { status, text } = await answer;
  assert.equal(status, 200, text);
};
const age = (which: string) => (account: Account) =>
  service.sql(`update one_time_tokens set ${which} where user_id = $1`, [account.id]);
const invalidations: [string, (account: Account) => Promise<unknown>][] = [
  ['a second after its time', age("expires_at = now() - interval '1 second'")],
  ['a year after its time', age("expires_at = now() - interval '1 year'")],
  ['after a use that the database knows of', age('used_at = now()')],
  [
    'after the address was changed',
    ({ id, email }) => asAdmin(admin.put(`/api/v1/users/${id}`, { email: `moved-${email}` })),
  ],
  [
    'after the address was changed and changed back',
    async ({ id, email }) => {
      await asAdmin(admin.put(`/api/v1/users/${id}`, { email: `moved-${email}` }));
      await asAdmin(admin.put(`/api/v1/users/${id}`, { email }));
    },
  ],
  ['after deactivation', ({ id }) => asAdmin(admin.put(`/api/v1/users/${id}`, { is_active: false }))],
  [
    'after deletion',
    async ({ id }) => {
      await asAdmin(admin.put(`/api/v1/users/${id}`, { role_id: [] }));
      await asAdmin(admin.delete(`/api/v1/users/${id}`));
    },
  ],
  [
    'after a newer one',
    async ({ email }) => {
      await nextBrowser().post(paths.resend, { email });
      await linkTo(service, email, 'verification', 1);
      await resetLink(service, email);
    },
  ],
];

scenario('an expired link, or one of an account that has changed since, is refused', async (tally) => {
  for (const [what, spoil] of invalidations) {
    const account = await openAccount();
    await spoil(account);
    await assertRefused(tally, account.token, 'verification', what);
    await assertRefused(tally, account.reset, 'reset', what);
    const rows = await service.sql<{ verified: boolean }>('select verified from users where id = $1', [
      account.id,
    ]);
    assert.ok(
      rows.every(({ verified }) => !verified),
      what,
    );
    tally.held();
  }
  tally.held(await assertSound(service));
});

scenario('a used link is refused at both instances', async (tally) => {
  const { email, token, reset } = await openAccount();
  assert.equal((await uses.verification.use(token)).status, 200);
  assert.equal((await uses.reset.use(reset)).status, 200);
  for (let round = 0; round < 4; round += 1) {
    const again = await uses.verification.use(token);
    assert.equal(again.status, 400, again.text);
    assert.equal(again.body.code, 'already_verified');
    await assertRefused(tally, reset, 'reset', 'a used link');
    await assertRefused(tally, token, 'reset', 'a used link of the other kind');
    await assertRefused(tally, reset, 'verification', 'a used link of the other kind');
    tally.tried();
    tally.held();
  }
  assert.equal((await service.client().login({ email, password: PASSWORD })).status, 422);
  assert.equal((await service.client().login({ email, password: NEW })).status, 200);
  tally.held(2);
});
