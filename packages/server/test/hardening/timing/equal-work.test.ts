// That answers which must look alike cost alike: the same hashing and the same statements, whatever is behind them.
// It must not measure time: bench/equal-time.ts does, and here machines are shared.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { hash } from '@node-rs/argon2';
import type { Answer } from '../../client.ts';
import { newEmail, PASSWORD, startTestService } from '../../harness.ts';
import { addUser, readyClient } from '../../sessions/accounts.ts';
import { failLogins, logIn, WRONG } from '../../sessions/attempts.ts';
import { statementsOf } from '../../statements.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';

const scenario = scenariosOf('timing');
const service = await startTestService({ after });
const client = await readyClient(service);
// The worker's own statements would be counted with those of the request that queued the mail.
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

async function withoutHash(): Promise<string> {
  const email = await active();
  await service.sql('update users set password_hash = null where email = $1', [email]);
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

/** That all of them cost what the first one does. */
async function assertAlike(
  tally: Tally,
  cases: readonly Case[],
  run: (one: Case) => Promise<Work>,
  code: string,
): Promise<void> {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const [first, ...others] = await inTurn(cases, run);
    assert.ok(first && first.statements.length > 2, 'nothing was asked of the database');
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

scenario('a login that is refused as wrong costs one verification and the same statements', (tally) =>
  assertAlike(
    tally,
    [
      ['wrong password', active, WRONG],
      ['unknown e-mail', unknown, WRONG],
      ['inactive, right password', inactive, PASSWORD],
      ['inactive, wrong password', inactive, WRONG],
      ['unverified, wrong password', unverified, WRONG],
      ['no password set', withoutHash, PASSWORD],
    ],
    loginWithOneVerification,
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
      ['unknown e-mail', async () => locked(newEmail()), WRONG],
    ],
    loginWithOneVerification,
    'account_locked',
  ),
);

scenario('every other login costs one verification as well', async (tally) => {
  const cases: readonly (readonly [code: string, ...Case])[] = [
    ['200', 'a right password', active, PASSWORD],
    ['email_not_verified', 'an unverified account', unverified, PASSWORD],
    ['invalid_credentials', 'a text that is no e-mail', async () => 'no e-mail at all', PASSWORD],
  ];
  for (const [code, ...one] of cases) {
    assert.equal((await loginWithOneVerification(one)).code, code);
    tally.tried();
    tally.held();
  }
});

for (const path of ['resend-verification-email', 'password-reset/request'])
  scenario(`${path} asks the database the same for every address, and hashes nothing`, (tally) =>
    assertAlike(
      tally,
      [
        ['unknown', unknown, ''],
        ['verified account', active, ''],
        ['unverified account', unverified, ''],
        ['inactive account', inactive, ''],
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

scenario('a right password under older parameters is hashed anew once, and still opens', async (tally) => {
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
