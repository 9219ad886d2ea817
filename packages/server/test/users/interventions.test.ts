// What an administrator's operation on an account ends of what was issued before: tokens with their proofs, links, queued mails,
// sign-ins that wait for a second factor, trusted devices, and the factors themselves.
// Every operation must say what becomes of each.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  linkTo,
  mailsTo,
  paths,
  resetLink,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { beginSignIn, completeSignIn, enrol } from '@castellan/testing/second-factors/app';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { findTokenOwner, issueOneTimeToken } from '../../src/modules/auth/one-time-tokens.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';

// The exchanged refresh token is accepted until the end of the test, however slow the machine is.
const service = await startTestService(
  { after },
  { REFRESH_REUSE_INTERVAL: '600', RATE_LIMIT_SECOND_FACTOR: 'off' },
);
const admin = await signIn(service, ADMIN);
const visitor = service.client();
const { db } = service.service.deps;
const PASSWORD = 'Marble?Tundra61Fox';
const BULK = '/api/v1/users/bulk-update';

type Target = { id: string; email: string; sessionId: string };
type Operation = {
  run: (target: Target) => Promise<Answer>;
  /** `never`: the account can have no sessions at that time. */
  sessions: 'end' | 'stay' | 'never';
  links: 'end' | 'stay';
  /** Sign-ins that wait for their second factor. */
  pending: 'end' | 'stay';
  trust?: 'end';
  factors?: 'end';
  /** The state of the account before the operation; active and unverified by default. */
  found?: 'verified' | 'inactive' | 'locked';
};

const pathOf = ({ id }: Target, rest = ''): string => `/api/v1/users/${id}${rest}`;
const put = (fields: object) => (target: Target) => admin.put(pathOf(target), fields);
const putAll = (updates: object) => (target: Target) => admin.put(BULK, { user_ids: [target.id], updates });
const putEach = (fields: object) => (target: Target) =>
  admin.put(BULK, { users: [{ id: target.id, ...fields }] });

const role = await addRole(service, 'role.read');
const otherRole = await addRole(service, 'users.read');
const ends = { sessions: 'end', links: 'end', pending: 'end', trust: 'end' } as const;
/** Trust in devices depends on the end of all sessions at once. */
const endsSome = { sessions: 'end', links: 'end', pending: 'end' } as const;
const stays = { sessions: 'stay', links: 'stay', pending: 'stay' } as const;
const operations: Record<string, Operation> = {
  'a new password': { run: put({ password: PASSWORD }), ...ends },
  'a new email': { run: put({ email: newEmail() }), ...ends },
  'a new email in bulk': { run: putEach({ email: newEmail() }), ...ends },
  deactivation: { run: put({ is_active: false }), ...ends },
  'deactivation in bulk': { run: putAll({ is_active: false }), ...ends },
  reactivation: {
    run: put({ is_active: true }),
    sessions: 'never',
    links: 'end',
    pending: 'stay',
    found: 'inactive',
  },
  'reactivation in bulk': {
    run: putAll({ is_active: true }),
    sessions: 'never',
    links: 'end',
    pending: 'stay',
    found: 'inactive',
  },
  '`verified: false`': { run: put({ verified: false }), ...ends, found: 'verified' },
  '`verified: false` in bulk': { run: putAll({ verified: false }), ...ends, found: 'verified' },
  '`verified: true`': { run: put({ verified: true }), sessions: 'stay', links: 'end', pending: 'stay' },
  '`verified: true` in bulk': {
    run: putEach({ verified: true }),
    sessions: 'stay',
    links: 'end',
    pending: 'stay',
  },
  'the end of all sessions': { run: (target) => admin.delete(pathOf(target, '/sessions')), ...ends },
  'the end of the session': {
    run: (target) => admin.delete(pathOf(target, `/sessions/${target.sessionId}`)),
    ...endsSome,
  },
  'the end of the session, whoever has it': {
    run: (target) => admin.delete(`/api/v1/sessions/${target.sessionId}`),
    ...endsSome,
  },
  'the end of sessions by a filter': {
    run: (target) => admin.delete(`/api/v1/sessions?search=${target.email}`),
    ...endsSome,
  },
  'an unlock': {
    run: (target) => admin.post(pathOf(target, '/unlock')),
    sessions: 'stay',
    links: 'end',
    pending: 'stay',
    found: 'locked',
  },
  'a reset of the second factors': {
    run: (target) => admin.post(pathOf(target, '/factors/reset'), {}),
    ...ends,
    factors: 'end',
  },
  'forgotten devices': {
    run: (target) => admin.delete(pathOf(target, '/devices')),
    sessions: 'stay',
    links: 'end',
    pending: 'stay',
    trust: 'end',
  },
  'new names': { run: put({ first_name: 'Grace' }), ...stays },
  'other roles': { run: (target) => admin.post(pathOf(target, '/roles'), [otherRole]), ...stays },
  'roles taken away': { run: (target) => admin.delete(pathOf(target, '/roles'), [role]), ...stays },
  'a demand to change the password': { run: put({ must_change_password: true }), ...stays },
  'unchanged values': { run: put({ is_active: true, verified: false }), ...stays },
};

type Issued = Target & {
  access: string[];
  refresh: string;
  exchanged: string;
  reset: string;
  verification: string;
  recovery: string;
  waiting: { client: TestClient; token: string; recoveryCode: string };
};

const setState = (id: string, state: { verified: boolean; is_active: boolean }) =>
  service.sql('update users set verified = $2, is_active = $3 where id = $1', [
    id,
    state.verified,
    state.is_active,
  ]);

/** Creates an account with everything that can be issued for it, all of it valid. */
async function issueAll(): Promise<Issued> {
  const person = await addPerson(service, { roles: [role] });
  const browser = await signIn(service, person);
  const { recoveryCodes } = await enrol(browser);
  const client = service.client();
  const waiting = { client, token: await beginSignIn(client, person), recoveryCode: recoveryCodes[0] ?? '' };
  await trustDevice(person);
  const [access, exchanged] = [browser.accessToken as string, browser.refreshToken as string];
  const { data } = (await visitor.post(paths.refresh, { refresh_token: exchanged })).body;
  const [session] = (await browser.get('/api/v1/auth/sessions')).body.data;
  await setState(person.id, { verified: false, is_active: true });
  const reset = await resetLink(service, person.email);
  await visitor.post(paths.resend, { email: person.email });
  return {
    ...person,
    sessionId: session.id,
    access: [access, data.access_token],
    refresh: data.refresh_token,
    exchanged,
    reset,
    verification: await linkTo(service, person.email, 'verification'),
    recovery: await recoveryToken(person),
    waiting,
  };
}

const trustDevice = ({ id }: { id: string }): Promise<unknown> =>
  service.sql(
    `insert into devices (id, user_id, token_hash, trusted_until, trusted_epoch)
     select gen_random_uuid(), id, sha256(id::text::bytea), now() + interval '1 day', session_epoch
     from users where id = $1`,
    [id],
  );

async function recoveryToken({ id }: { id: string }): Promise<string> {
  const [row] = await service.sql<{ id: string; email: string; link_epoch: number }>(
    'select id, email, link_epoch from users where id = $1',
    [id],
  );
  assert.ok(row);
  return (await inTransaction(db, (tx) => issueOneTimeToken(tx, 'recover', row))) ?? assert.fail('no link');
}

async function setFound({ id, email }: Target, found: Operation['found']): Promise<void> {
  await setState(id, { verified: found === 'verified', is_active: found !== 'inactive' });
  if (found === 'locked')
    await service.sql(
      `insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')
       on conflict (email) do update set locked_until = excluded.locked_until`,
      [email],
    );
}

const me = (client: TestClient, token: string) =>
  client.get(paths.me, { headers: { authorization: `Bearer ${token}` } });

describe("an administrator's operation on an account", () => {
  const issued = new Map<string, Issued>();

  before(async () => {
    for (const name of Object.keys(operations)) issued.set(name, await issueAll());
    // From here on mails wait: those that are requested now are sent after the operations.
    await service.sql(`
      create function put_off() returns trigger language plpgsql as $$
      begin new.run_at := now() + interval '1 day'; return new; end $$;
      create trigger put_off before insert on outbox for each row execute function put_off()`);
    for (const [name, target] of issued) {
      for (const path of [paths.requestReset, paths.resend])
        await visitor.post(path, { email: target.email });
      await setFound(target, operations[name]?.found);
      const answer = await (operations[name] as Operation).run(target);
      assert.equal(answer.status, 200, `${name}: ${answer.text}`);
      // Restores the account, so that what works now was not ended by the operation.
      await service.sql('update users set email = $2 where id = $1', [target.id, target.email]);
      await setState(target.id, { verified: false, is_active: true });
    }
    await service.sql('drop trigger put_off on outbox; update outbox set run_at = now()');
    await waitForEmptyOutbox(service);
  });

  for (const [name, { sessions, links, pending, trust, factors }] of Object.entries(operations)) {
    const target = () => issued.get(name) as Issued;

    test(`${name}: queued mails ${links === 'end' ? 'are not sent' : 'are sent'}`, () => {
      for (const kind of ['password_reset', 'verification'])
        assert.equal(mailsTo(service, target().email, kind).length, links === 'end' ? 1 : 2, kind);
    });

    if (sessions !== 'never')
      test(`${name}: tokens ${sessions === 'end' ? 'end' : 'stay'}`, async () => {
        const { access, refresh, exchanged } = target();
        const expected = sessions === 'end' ? 401 : 200;
        for (const token of access) assert.equal((await me(visitor, token)).status, expected, 'access');
        for (const token of [exchanged, refresh]) {
          const answer = await visitor.post(paths.refresh, { refresh_token: token });
          assert.equal(answer.status, expected, answer.text);
          if (sessions === 'stay')
            assert.equal(readToken(answer.body.data.access_token).claims.acr, 'aal2', 'the proof');
        }
      });

    test(`${name}: sign-ins that wait ${pending}, trust ${trust ?? 'stays'}, factors ${factors ?? 'stay'}`, async () => {
      const { id, waiting } = target();
      const { data } = (await admin.get(pathOf(target(), '/factors'))).body;
      assert.equal(data.totp === null, factors === 'end');
      assert.equal(data.trusted_devices, trust === 'end' ? 0 : 1);
      await setState(id, { verified: true, is_active: true });
      const answer = await completeSignIn(waiting.client, waiting.token, {
        recovery_code: waiting.recoveryCode,
      });
      await setState(id, { verified: false, is_active: true });
      assert.equal(answer.status, pending === 'end' ? 422 : 200, answer.text);
      if (pending === 'end') assert.equal(answer.body.code, 'sign_in_expired');
    });

    test(`${name}: a recovery link ${links === 'end' ? 'ends' : 'stays'}`, async () => {
      const owner = await findTokenOwner(db, 'recover', target().recovery);
      assert.equal(owner?.user_id, links === 'end' ? undefined : target().id);
    });

    test(`${name}: mailed links ${links === 'end' ? 'end' : 'stay, replaced by newer ones only'}`, async () => {
      const { id, email, reset, verification } = target();
      // If the queued mails were sent, the newest link is the valid one.
      const newest = (kind: string, first: string) => mailsTo(service, email, kind).at(-1)?.token ?? first;
      const expected = links === 'end' ? 400 : 200;
      const verifying = await visitor.post(paths.verify, { token: newest('verification', verification) });
      assert.equal(verifying.status, expected, verifying.text);
      const [row] = await service.sql<{ verified: boolean }>('select verified from users where id = $1', [
        id,
      ]);
      assert.equal(row?.verified, links === 'stay');
      const resetting = await visitor.post(paths.confirmReset, {
        token: newest('password_reset', reset),
        new_password: 'Copper+Violin95Moss',
      });
      assert.equal(resetting.status, expected, resetting.text);
      if (links === 'end') assert.equal(resetting.body.code, 'reset_token_invalid');
    });
  }
});

test('ending a session that does not exist is refused and ends no link', async () => {
  const target = await issueAll();
  const answer = await admin.delete(pathOf(target, `/sessions/${target.id}`));
  assert.equal(answer.status, 404, answer.text);
  const resetting = await visitor.post(paths.confirmReset, { token: target.reset, new_password: PASSWORD });
  assert.equal(resetting.status, 200, resetting.text);
});

test('a deletion ends everything that was issued', async () => {
  const target = await issueAll();
  await service.sql('delete from user_roles where user_id = $1', [target.id]);
  assert.equal((await admin.delete(pathOf(target))).status, 200);
  for (const token of target.access) assert.equal((await me(visitor, token)).status, 401);
  for (const token of [target.exchanged, target.refresh])
    assert.equal((await visitor.post(paths.refresh, { refresh_token: token })).status, 401);
  const { client, token, recoveryCode } = target.waiting;
  const late = await completeSignIn(client, token, { recovery_code: recoveryCode });
  assert.equal(late.body.code, 'sign_in_expired');
  assert.equal(await findTokenOwner(db, 'recover', target.recovery), undefined);
  const reset = { token: target.reset, new_password: PASSWORD };
  assert.equal((await visitor.post(paths.confirmReset, reset)).body.code, 'reset_token_invalid');
  for (const table of ['devices', 'totp_factors', 'recovery_codes', 'pending_sign_ins', 'one_time_tokens'])
    assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [target.id]), [], table);
});

test('an account gets new links after an operation, and keeps its ETag if no field of the record changed', async () => {
  const target = await issueAll();
  const before = (await admin.get(pathOf(target))).headers.get('etag');
  assert.equal((await admin.delete(pathOf(target, '/sessions'))).status, 200);
  assert.equal((await admin.get(pathOf(target))).headers.get('etag'), before);
  const again = await resetLink(service, target.email);
  const resetting = await visitor.post(paths.confirmReset, { token: again, new_password: PASSWORD });
  assert.equal(resetting.status, 200, resetting.text);
});
