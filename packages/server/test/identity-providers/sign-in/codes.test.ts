// People who come from a provider without an address that counts: they type the code of a mail into the browser that began.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, startTestService, type TestMail } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addPerson } from '@castellan/testing/users/people';
import { accountOf, addProvider, entriesOf, signInThere, somebody } from './fixture.ts';

const service = await startTestService({ after });
const issuer = await startIssuer({ after });
const everyone = await addProvider(service, issuer, {
  sign_up: 'everyone',
  email_trust: 'none',
  domains: [],
});
const nobody = await addProvider(service, issuer, { sign_up: 'none', email_trust: 'none', domains: [] });

const asking = async (provider = everyone, claims = {}): Promise<TestClient> => {
  const client = service.client();
  await signInThere(client, provider, somebody(claims));
  return client;
};

const askFor = (client: TestClient, email: string) =>
  client.post('/api/v1/auth/pending-identity/email', { email });
const confirm = (client: TestClient, code: string) =>
  client.post('/api/v1/auth/pending-identity/confirm', { code });
const stepOf = async (client: TestClient) =>
  (await client.get('/api/v1/auth/pending-identity')).body.data?.step;

const codeIn = ({ kind, text }: TestMail): string => {
  assert.equal(kind, 'provider_code');
  const code = /^(\d{8})$/m.exec(text)?.[1];
  assert.ok(code, text);
  return code;
};
const wrong = (code: string): string => String((Number(code) + 1) % 10 ** 8).padStart(8, '0');

/** Asks for a code to the address and returns that of the newest mail. */
async function codeTo(client: TestClient, email: string, earlier = 0): Promise<string> {
  assert.equal((await askFor(client, email)).status, 200);
  return codeIn(await service.mailTo(email, earlier));
}

test('the right code makes an account with the address that it proves, and signs in', async () => {
  const client = await asking(everyone, { email: 'there@other.example', email_verified: false });
  const { body } = await client.get('/api/v1/auth/pending-identity');
  assert.deepEqual(body.data, {
    provider: { slug: everyone.slug, name: body.data.provider.name },
    email: 'there@other.example',
    step: 'email',
  });
  const email = newEmail('mine');
  const code = await codeTo(client, email);
  const answer = await confirm(client, `${code.slice(0, 4)} ${code.slice(4)}`);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.redirect_to, 'http://castellan.test/provider?result=signed_in');
  const me = await accountOf(client);
  assert.equal(me?.email, email);
  const [row] = await service.sql('select verified, password_hash from users where id = $1', [me?.id]);
  assert.deepEqual(row, { verified: true, password_hash: null });
  assert.equal(client.cookies.has('castellan_provider'), false);
});

test('a code counts in the browser that began alone, once, and only the newest', async () => {
  const client = await asking();
  const email = newEmail('newest');
  const first = await codeTo(client, email);
  const second = await codeTo(client, email, 1);
  assert.notEqual(first, second);
  const another = await asking();
  assert.equal((await confirm(another, second)).body.code, 'code_invalid');
  const stranger = service.client();
  assert.deepEqual((await confirm(stranger, second)).body.code, 'pending_identity_not_found');
  assert.deepEqual((await askFor(stranger, email)).body.code, 'pending_identity_not_found');
  assert.equal((await confirm(client, first)).body.code, 'code_invalid');
  const cookie = client.cookies.get('castellan_provider') ?? '';
  const answers = await Promise.all(Array.from({ length: 3 }, () => confirm(client, second)));
  assert.deepEqual(answers.filter(({ status }) => status === 200).length, 1);
  client.cookies.set('castellan_provider', cookie);
  assert.equal((await confirm(client, second)).body.code, 'pending_identity_not_found');
});

test('five wrong codes end a code, also in parallel, and another one can be asked for', async () => {
  const client = await asking();
  const email = newEmail('wrong');
  const code = await codeTo(client, email);
  const tries = await Promise.all(Array.from({ length: 8 }, () => confirm(client, wrong(code))));
  for (const { body, status } of tries) assert.deepEqual([status, body.code], [422, 'code_invalid']);
  assert.equal((await confirm(client, code)).body.code, 'code_invalid');
  assert.equal(await accountOf(client), null);
  const [entry] = await service.sql<{ code_tries: number }>(
    'select code_tries from provider_sign_ins where email = $1',
    [email],
  );
  assert.equal(entry?.code_tries, 5);
  assert.equal((await confirm(client, await codeTo(client, email, 1))).status, 200);
});

test('a code works for 15 minutes, and what waits for 30', async () => {
  const client = await asking();
  const email = newEmail('late');
  const code = await codeTo(client, email);
  const [row] = await service.sql<{ code: number; wait: number }>(
    `select round(extract(epoch from code_expires_at - now()) / 60)::integer as code,
       round(extract(epoch from expires_at - now()) / 60)::integer as wait from provider_sign_ins where email = $1`,
    [email],
  );
  assert.deepEqual(row, { code: 15, wait: 30 });
  await service.sql('update provider_sign_ins set code_expires_at = now() where email = $1', [email]);
  assert.equal((await confirm(client, code)).body.code, 'code_invalid');
  await service.sql('update provider_sign_ins set expires_at = now() where email = $1', [email]);
  assert.equal((await client.get('/api/v1/auth/pending-identity')).status, 404);
});

test('asking for a code is answered alike for every address, and a verified account is told without a code', async () => {
  const client = await asking();
  const verified = await addPerson(service);
  const off = await addPerson(service, { active: false });
  const answers = [];
  for (const email of [verified.email, off.email, newEmail('nobody')])
    answers.push(await askFor(client, email));
  assert.deepEqual(
    new Set(answers.map(({ status, text }) => `${status} ${text.replace(/"request_id.*/, '')}`)).size,
    1,
  );
  const mail = await service.mailTo(verified.email);
  assert.equal(mail.kind, 'provider_attempt');
  assert.doesNotMatch(mail.text, /\b\d{8}\b/);
  assert.equal(
    service.mails().some(({ to }) => to === off.email),
    false,
  );
});

test('the right code takes over an account that nobody has verified', async () => {
  const person = await addPerson(service, { verified: false });
  const client = await asking(nobody);
  const answer = await confirm(client, await codeTo(client, person.email));
  assert.match(answer.body.data.redirect_to, /result=signed_in/);
  assert.equal((await accountOf(client))?.id, person.id);
  const [entry] = (await entriesOf(service, answer)).filter(({ action }) => action === 'identity_connected');
  assert.equal(entry?.details.taken_over, true);
  assert.equal((await service.client().login(person)).body.code, 'invalid_credentials');
});

test('without sign-up, the right code makes nothing, and says so', async () => {
  const client = await asking(nobody);
  const email = newEmail('none');
  const answer = await confirm(client, await codeTo(client, email));
  assert.match(answer.body.data.redirect_to, /result=pending/);
  assert.equal(await stepOf(client), 'sign_up');
  assert.equal((await service.sql('select from users where email = $1', [email])).length, 0);
  assert.equal((await askFor(client, email)).body.code, 'pending_identity_not_found');
});

test('a code gives no account of a domain whose people another provider is required for', async () => {
  const domain = 'must.example';
  const required = await addProvider(service, issuer, { domains: [domain], required_for_domains: true });
  const { requiredProviders } = service.service.deps;
  await requiredProviders.load();
  const unverified = await addPerson(service, { verified: false, email: `ada@${domain}` });
  for (const email of [`new@${domain}`, unverified.email]) {
    const client = await asking();
    await confirm(client, await codeTo(client, email));
    assert.equal(await stepOf(client), 'sign_up');
    assert.equal(await accountOf(client), null);
  }
  const client = service.client();
  await signInThere(client, required, somebody({ email: `new@${domain}` }));
  assert.equal((await accountOf(client))?.email, `new@${domain}`);
  await service.sql('update identity_providers set is_active = false where id = $1', [required.id]);
  await requiredProviders.load();
});

test('an account that is verified by then is not connected by a code', async () => {
  const person = await addPerson(service, { verified: false });
  const client = await asking();
  const code = await codeTo(client, person.email);
  await service.sql('update users set verified = true where id = $1', [person.id]);
  await confirm(client, code);
  assert.equal(await stepOf(client), 'connect');
  assert.equal((await service.sql('select from identities where user_id = $1', [person.id])).length, 0);
});

test('what waits can be withdrawn, and ends with its provider', async () => {
  const client = await asking();
  const email = newEmail('withdrawn');
  await askFor(client, email);
  const code = codeIn(await service.mailTo(email));
  const cookie = client.cookies.get('castellan_provider') ?? '';
  assert.equal((await client.delete('/api/v1/auth/pending-identity')).status, 200);
  assert.equal(client.cookies.has('castellan_provider'), false);
  client.cookies.set('castellan_provider', cookie);
  assert.equal((await confirm(client, code)).status, 404);
  assert.equal((await client.delete('/api/v1/auth/pending-identity')).status, 404);
  const off = await addProvider(service, issuer, { email_trust: 'none' });
  const other = await asking(off);
  await service.sql('update identity_providers set is_active = false where id = $1', [off.id]);
  assert.equal((await other.get('/api/v1/auth/pending-identity')).status, 404);
});

test('a person is limited whatever the mailbox and the sign-in, and neighbours at their address are not', async () => {
  const limited = await service.another({
    ACCOUNT_EMAIL_LIMIT: '2/hour',
    RATE_LIMIT_RESEND_VERIFICATION: '1/hour',
  });
  const there = somebody({ email_verified: false });
  const outcomes: unknown[] = [];
  for (let asked = 0; asked < 3; asked += 1) {
    const client = limited.client();
    await signInThere(client, everyone, there);
    const answer = await askFor(client, newEmail('many'));
    outcomes.push(
      answer.status === 429 ? [answer.body.code, answer.headers.has('retry-after')] : answer.status,
    );
  }
  assert.deepEqual(outcomes, [200, 200, ['rate_limited', true]]);
  const neighbour = limited.client();
  await signInThere(neighbour, everyone, somebody({ email_verified: false }));
  assert.equal((await askFor(neighbour, newEmail('near'))).status, 200);
});

test('mails are limited per address, and the outbox holds no code', async () => {
  const limited = await service.another({ ACCOUNT_EMAIL_LIMIT: '1/day' });
  const email = newEmail('often');
  for (const _ of [1, 2]) {
    const client = limited.client();
    await signInThere(client, everyone, somebody({ email_verified: false }));
    assert.equal((await askFor(client, email)).status, 200);
  }
  const outcomes = await service.sql<{ outcome: string }>(
    `select details->>'outcome' as outcome from audit_logs
     where action = 'verification_email_sent' and details->>'email' = $1 order by "timestamp", id`,
    [email],
  );
  assert.deepEqual(outcomes.map(({ outcome }) => outcome).slice(0, 1), ['queued']);
  const count = await service.sql(
    "select from outbox where kind = 'provider_code' and payload->>'email' = $1",
    [email],
  );
  assert.equal(count.length, 1);
  // The row of the outbox has no secret, and leads to none.
  const [row] = await service.sql<{ payload: { sign_in: string } }>(
    "select payload from outbox where kind = 'provider_code' and payload->>'email' = $1",
    [email],
  );
  assert.match(row?.payload.sign_in ?? '', /^[0-9a-f]{64}$/);
});
