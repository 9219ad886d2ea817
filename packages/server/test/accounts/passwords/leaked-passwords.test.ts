// PASSWORD_BREACH_FILE, PASSWORD_BANNED_WORDS and PASSWORD_POLICY in every operation that sets a password.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  confirmReset,
  linkTo,
  paths,
  registerAccount,
  registration,
  resetLink,
  strongPasswords,
} from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import {
  ADMIN,
  createVerifiedUser,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
} from '@castellan/testing/harness';
import { assertAnswered, assertPasswordRefused } from '../answers.ts';

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex').toUpperCase();

const [LEAKED, GOOD] = strongPasswords;
const BANNED = 'Acme-Widgets*2031';
const folder = mkdtempSync(join(tmpdir(), 'castellan-leaked-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'leaked.txt');
writeFileSync(file, `${sha1(LEAKED)}:7\r\n`);
const service = await startTestService(
  { after },
  { PASSWORD_BREACH_FILE: file, PASSWORD_BANNED_WORDS: 'acme, Widgets' },
);
const admin = await signIn(service, ADMIN);

const policy = async () => assertAnswered(await service.client().get('/api/v1/auth/password-policy'));
const messageOf = async (code: string): Promise<string> =>
  (await policy()).rules.find((rule: { code: string }) => rule.code === code)?.message;

type Setting = { send: (password: string) => Promise<Answer>; success: number };

/** Operation → a request that sets a password, once it is accepted. */
const operations: Record<string, () => Promise<Setting>> = {
  'POST /auth/register': async () => ({
    send: (password) => service.client().post(paths.register, registration({ password })),
    success: 201,
  }),
  'POST /auth/verify-email': async () => {
    const { token } = await registerAccount(service);
    return {
      send: (password) => service.client().post(paths.verify, { token, new_password: password }),
      success: 200,
    };
  },
  'POST /auth/change_password': async () => {
    const client = await signIn(service, await createVerifiedUser(service));
    return {
      send: (password) =>
        client.post(paths.changePassword, { current_password: PASSWORD, new_password: password }),
      success: 200,
    };
  },
  'POST /auth/password-reset/confirm': async () => {
    const { email } = await createVerifiedUser(service);
    const token = await resetLink(service, email);
    return { send: (password) => confirmReset(service.client(), token, password), success: 200 };
  },
  'POST /auth/accept-invitation': async () => {
    const email = newEmail();
    const names = { first_name: 'Ada', last_name: 'Lovelace' };
    assertAnswered(await admin.post('/api/v1/users/invitations', { email, ...names }), 201);
    const token = await linkTo(service, email, 'invitation');
    return {
      send: (password) => service.client().post(paths.acceptInvitation, { token, password }),
      success: 200,
    };
  },
  'POST /users': async () => ({
    send: (password) => admin.post('/api/v1/users', registration({ password })),
    success: 201,
  }),
  'PUT /users/{id}': async () => {
    const { id } = await createVerifiedUser(service);
    return { send: (password) => admin.put(`/api/v1/users/${id}`, { password }), success: 200 };
  },
};

for (const [name, prepare] of Object.entries(operations))
  test(`${name} refuses leaked and banned passwords, each with its rule alone`, async () => {
    const { send, success } = await prepare();
    assert.deepEqual(assertPasswordRefused(await send(LEAKED)), [await messageOf('breached')]);
    assert.deepEqual(assertPasswordRefused(await send(BANNED)), [await messageOf('common')]);
    assert.equal((await send(GOOD)).status, success);
  });

test('a sign-in with a leaked password is not refused: the list may be younger than the password', async () => {
  const without = await service.another({ PASSWORD_BREACH_FILE: '' });
  const email = newEmail();
  const admin = await signIn(without, ADMIN);
  assertAnswered(await admin.post('/api/v1/users', registration({ email, password: LEAKED })), 201);
  await signIn(service, { email, password: LEAKED });
});

test('the policy lists the rules only where the settings have them, and never a word', async () => {
  const codes = (rules: { code: string }[]) => rules.map(({ code }) => code);
  const full = await policy();
  assert.equal(full.policy, 'spec');
  assert.ok(['common', 'breached'].every((code) => codes(full.rules).includes(code)));
  assert.doesNotMatch(JSON.stringify(full), /acme|widgets/i);

  const plain = await service.another({ PASSWORD_BREACH_FILE: '', PASSWORD_BANNED_WORDS: '' });
  const rules = assertAnswered(await plain.client().get('/api/v1/auth/password-policy')).rules;
  assert.ok(!codes(rules).some((code) => ['common', 'breached'].includes(code)));
  const settings = assertAnswered(await admin.get('/api/v1/settings'));
  assert.doesNotMatch(JSON.stringify(settings), /acme|widgets/i);
});

test('PASSWORD_POLICY=nist asks for 15 characters and nothing of their kinds, unless PASSWORD_MIN_LENGTH says otherwise', async () => {
  const nist = await service.another({ PASSWORD_POLICY: 'nist' });
  const { policy, rules } = assertAnswered(await nist.client().get('/api/v1/auth/password-policy'));
  assert.equal(policy, 'nist');
  assert.deepEqual(
    rules.map(({ code }: { code: string }) => code),
    ['too_short', 'too_long', 'too_common', 'common', 'breached', 'too_weak', 'reused'],
  );
  assert.deepEqual(rules[0].parameters, { min_length: 15 });
  const register = (on: typeof nist, password: string) =>
    on.client().post(paths.register, registration({ password }));
  assertAnswered(await register(nist, 'vexing quartz lime abc 111'), 201);
  assertPasswordRefused(await register(nist, 'vexing quartz'));
  assertPasswordRefused(await register(nist, LEAKED));
  const shorter = await service.another({ PASSWORD_POLICY: 'nist', PASSWORD_MIN_LENGTH: '8' });
  assertAnswered(await register(shorter, 'vexing quartz'), 201);
});

test('a broken breach file ends the start with a reason', async () => {
  const broken = `${file}.broken`;
  writeFileSync(broken, 'password\n123456\n'.repeat(9));
  await assert.rejects(
    service.another({ PASSWORD_BREACH_FILE: broken }),
    /PASSWORD_BREACH_FILE \(.+\) has a line that is not a SHA-1 hash/,
  );
});
