// Answers that must look alike cost the same work: the same hashing and the same statements, whether an account exists
// or not. It must not measure time on a shared machine: bench/equal-time.ts does.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { addAppUser, beginSignIn, completeSignIn } from '@castellan/testing/second-factors/app';
import { addUser, readyClient } from '@castellan/testing/sessions/accounts';
import { failLogins, logIn, WRONG } from '@castellan/testing/sessions/attempts';
import { statementsOf } from '@castellan/testing/statements';
import { hash } from '@node-rs/argon2';

const scenario = scenariosOf('timing');
const service = await startTestService({ after }, {}, 'full');
const client = await readyClient(service);
// Delays mails, because the worker's statements would be counted with those of the request that queued the mail.
await service.sql(`
  create function put_off() returns trigger language plpgsql as $$
  begin new.run_at := now() + interval '1 day'; return new; end $$;
  create trigger put_off before insert on outbox for each row execute function put_off()`);

type Work = { code: string; verifications: number; hashes: number; statements: string[] };

async function workOf(act: () => Promise<Answer>): Promise<Work> {
  const { hasher } = service.service.deps;
  const before = hasher.stats();
  let code = '';
  const statements = await statementsOf(async () => {
    const { status, body } = await act();
    code = body.code ?? String(status);
  });
  const now = hasher.stats();
  return {
    code,
    verifications: now.verifications - before.verifications,
    hashes: now.hashes - before.hashes,
    statements,
  };
}

const active = async (): Promise<string> => (await addUser(service)).email;
const inactive = async (): Promise<string> => (await addUser(service, { active: false })).email;
const unverified = async (): Promise<string> => (await addUser(service, { verified: false })).email;
const unknown = async (): Promise<string> => newEmail();
/** The domain as people type it; the account has it in ASCII. */
const atInternational = async (): Promise<string> => {
  const email = await active();
  const [name] = email.split('@');
  await service.sql('update users set email = $2 where email = $1', [
    email,
    `${name}@xn--mnchen-3ya.example`,
  ]);
  return `${name}@münchen.example`;
};
async function awaitingRecovery(): Promise<string> {
  const email = await active();
  await service.sql('update users set recovery_pending = true where email = $1', [email]);
  return email;
}
/** Hashed as it is, after the spaces of an older password were tried. */
const SPACED = `${WRONG}\u00a0${WRONG}`;

async function withoutHash(): Promise<string> {
  const email = await active();
  await service.sql('update users set password_hash = null where email = $1', [email]);
  return email;
}

/** Nobody has accepted yet. */
async function invited(): Promise<string> {
  const email = newEmail('invited');
  await service.sql(
    `insert into users (id, email, first_name, last_name, verified, invited_at, invitation_hours, invitation_expires_at)
     values (gen_random_uuid(), $1, '', '', false, now(), 168, now() + interval '168 hours')`,
    [email],
  );
  return email;
}

async function locked(email: string): Promise<string> {
  await failLogins(client, email, 5);
  return email;
}

type Case = readonly [what: string, email: () => Promise<string>, password: string];

const hashingOf = ({ verifications, hashes }: Work) => ({ verifications, hashes });

async function loginWithOneVerification([what, email, password]: Case): Promise<Work> {
  const address = await email();
  const work = await workOf(() => logIn(client, address, password));
  assert.deepEqual(hashingOf(work), { verifications: 1, hashes: 0 }, what);
  return work;
}

/** Checks that all cases have this code and cost the same as the first one. */
async function assertAlike(
  tally: Tally,
  cases: readonly Case[],
  run: (one: Case) => Promise<Work>,
  code: string,
): Promise<void> {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const [first, ...others] = await inTurn(cases, run);
    assert.ok(first && first.statements.length > 2, 'no statements were counted');
    for (const [index, work] of [first, ...others].entries()) {
      const [what] = cases[index] as Case;
      assert.equal(work.code, code, what);
      assert.deepEqual(hashingOf(work), hashingOf(first), what);
      assert.deepEqual(work.statements, first.statements, what);
    }
    tally.tried(cases.length);
    tally.held(cases.length * 2);
  }
}

async function inTurn<T, R>(values: readonly T[], run: (value: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const value of values) results.push(await run(value));
  return results;
}

scenario(
  'a login with wrong credentials costs one verification and the same statements, account or not',
  (tally) =>
    assertAlike(
      tally,
      [
        ['wrong password', active, WRONG],
        ['unknown email', unknown, WRONG],
        ['international domain, wrong password', atInternational, WRONG],
        [
          'unknown email at an international domain',
          async () => `${newEmail().split('@')[0]}@münchen.example`,
          WRONG,
        ],
        ['inactive, right password', inactive, PASSWORD],
        ['inactive, wrong password', inactive, WRONG],
        ['unverified, wrong password', unverified, WRONG],
        ['no password set', withoutHash, PASSWORD],
        ['invited', invited, PASSWORD],
        ['with an app, wrong password', async () => (await addAppUser(service)).email, WRONG],
        ['factors reset, wrong password', awaitingRecovery, WRONG],
      ],
      loginWithOneVerification,
      'invalid_credentials',
    ),
);

scenario(
  'a login with a wrong password of no-break spaces costs the same statements and hashes, account or not',
  (tally) =>
    assertAlike(
      tally,
      [
        ['wrong password', active, SPACED],
        ['unknown email', unknown, SPACED],
        ['inactive', inactive, SPACED],
        ['no password set', withoutHash, SPACED],
      ],
      async ([, email, password]) => {
        const address = await email();
        return workOf(() => logIn(client, address, password));
      },
      'invalid_credentials',
    ),
);

scenario('a login while locked costs one verification and the same statements, account or not', (tally) =>
  assertAlike(
    tally,
    [
      ['account, wrong password', async () => locked(await active()), WRONG],
      ['account, right password', async () => locked(await active()), PASSWORD],
      ['inactive account', async () => locked(await inactive()), PASSWORD],
      ['invited account', async () => locked(await invited()), PASSWORD],
      ['unknown email', async () => locked(newEmail()), WRONG],
    ],
    loginWithOneVerification,
    'account_locked',
  ),
);

scenario('every other login also costs one verification', async (tally) => {
  const cases: readonly (readonly [code: string, ...Case])[] = [
    ['200', 'a right password', active, PASSWORD],
    ['email_not_verified', 'an unverified account', unverified, PASSWORD],
    ['invalid_credentials', 'a text that is no email', async () => 'no email at all', PASSWORD],
  ];
  for (const [code, ...one] of cases) {
    assert.equal((await loginWithOneVerification(one)).code, code);
    tally.tried();
    tally.held();
  }
});

for (const path of ['resend-verification-email', 'password-reset/request'])
  scenario(`${path} sends the same statements for every email, and hashes nothing`, (tally) =>
    assertAlike(
      tally,
      [
        ['unknown', unknown, ''],
        ['verified account', active, ''],
        ['unverified account', unverified, ''],
        ['inactive account', inactive, ''],
        ['invited account', invited, ''],
      ],
      async ([, email]) => {
        const address = await email();
        const work = await workOf(() => client.post(`/api/v1/auth/${path}`, { email: address }));
        assert.deepEqual(hashingOf(work), { verifications: 0, hashes: 0 });
        return work;
      },
      '200',
    ),
  );

scenario('a registration with an email that is taken costs the same for every account that has it', (tally) =>
  assertAlike(
    tally,
    [
      ['verified account', active, PASSWORD],
      ['unverified account', unverified, PASSWORD],
      ['inactive account', inactive, PASSWORD],
      ['invited account', invited, PASSWORD],
    ],
    async ([, email, password]) => {
      const body = { email: await email(), password, first_name: 'Ada', last_name: 'Lovelace' };
      const work = await workOf(() => client.post('/api/v1/auth/register', body));
      assert.deepEqual(hashingOf(work), { verifications: 0, hashes: 1 });
      return work;
    },
    'email_taken',
  ),
);

scenario('a request for a new address sends the same statements, whether an account has it', (tally) =>
  assertAlike(
    tally,
    [
      ['unknown', unknown, ''],
      ['account', active, ''],
      ['unverified account', unverified, ''],
      ['inactive account', inactive, ''],
      ['invited account', invited, ''],
    ],
    async ([, email]) => {
      const address = await email();
      const asking = await signIn(service, await addUser(service));
      const work = await workOf(() => asking.post('/api/v1/users/me/email', { new_email: address }));
      assert.deepEqual(hashingOf(work), { verifications: 0, hashes: 0 });
      return work;
    },
    '202',
  ),
);

scenario('a right password with older hash parameters is rehashed once and still signs in', async (tally) => {
  const user = await addUser(service);
  const weak = await hash(user.password, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
  await service.sql('update users set password_hash = $2 where id = $1', [user.id, weak]);
  for (const hashes of [1, 0]) {
    const work = await workOf(() => logIn(client, user.email, user.password));
    assert.deepEqual({ code: work.code, ...hashingOf(work) }, { code: '200', verifications: 1, hashes });
    tally.tried();
    tally.held();
  }
});

/** Texts in the place of a recovery code, and what they are. */
const wrongCodes: Record<string, (codes: readonly string[]) => string> = {
  'the first characters of a code': ([code = '']) => `${code.slice(0, 3)}${'0'.repeat(13)}`,
  'a code of nobody': () => '0000-0000-0000-0000',
  'a code that was used': ([, code = '']) => code,
  'no code at all': () => 'x',
  'a long text': () => 'x'.repeat(60),
};

scenario(
  'a wrong recovery code costs one verification and the same statements, whatever of it is wrong',
  async (tally) => {
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const works = await inTurn(Object.entries(wrongCodes), async ([what, codeOf]) => {
        const user = await addAppUser(service);
        await service.sql('update recovery_codes set used_at = now() where user_id = $1 and selector = $2', [
          user.id,
          user.recoveryCodes[1]?.slice(0, 3),
        ]);
        const token = await beginSignIn(client, user);
        const recovery_code = codeOf(user.recoveryCodes);
        const work = await workOf(() => completeSignIn(client, token, { recovery_code }));
        assert.deepEqual([work.code, work.verifications, work.hashes], ['second_factor_invalid', 1, 0], what);
        return work;
      });
      // What is no code is not looked up, which tells nobody what they do not know.
      for (const { statements } of works.slice(0, 3)) assert.deepEqual(statements, works[0]?.statements);
      tally.tried(works.length);
      tally.held(works.length * 2);
    }
  },
);
