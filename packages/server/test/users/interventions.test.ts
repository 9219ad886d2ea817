// What an administrator's operation on an account ends of what was issued before: tokens with their proofs, personal access tokens,
// tokens of who acts as the user, links, queued mails, sign-ins that wait for a second factor, trusted devices, and the factors themselves.
// Every operation must say what becomes of each.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  linkTo,
  mailsTo,
  paths,
  resetLink,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, PASSWORD as INITIAL, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { beginSignIn, completeSignIn, enrol } from '@castellan/testing/second-factors/app';
import { actAs } from '@castellan/testing/sessions/acting';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { findTokenOwner, issueOneTimeToken, type Purpose } from '../../src/modules/auth/one-time-tokens.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';

// The exchanged refresh token is accepted until the end of the test, however slow the machine is.
const service = await startTestService(
  { after },
  { REFRESH_REUSE_INTERVAL: '600', RATE_LIMIT_SECOND_FACTOR: 'off', SELF_DELETION_DAYS: '14' },
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
  /** Personal access tokens. */
  personal: 'end' | 'stay';
  /** Tokens of an administrator who acts as the user. */
  acting: 'end' | 'stay';
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
const ends = {
  sessions: 'end',
  personal: 'end',
  acting: 'end',
  links: 'end',
  pending: 'end',
  trust: 'end',
} as const;
/** Trust in devices and personal tokens depend on the end of all sessions at once. */
const endsSome = { sessions: 'end', personal: 'stay', acting: 'stay', links: 'end', pending: 'end' } as const;
const stays = { sessions: 'stay', personal: 'stay', acting: 'stay', links: 'stay', pending: 'stay' } as const;
const operations: Record<string, Operation> = {
  'a new password': { run: put({ password: PASSWORD }), ...ends },
  'a new email': { run: (target) => put({ email: newEmail() })(target), ...ends },
  'a new email in bulk': { run: (target) => putEach({ email: newEmail() })(target), ...ends },
  deactivation: { run: put({ is_active: false }), ...ends },
  'deactivation in bulk': { run: putAll({ is_active: false }), ...ends },
  reactivation: {
    run: put({ is_active: true }),
    ...stays,
    sessions: 'never',
    links: 'end',
    found: 'inactive',
  },
  'reactivation in bulk': {
    run: putAll({ is_active: true }),
    ...stays,
    sessions: 'never',
    links: 'end',
    found: 'inactive',
  },
  '`verified: false`': { run: put({ verified: false }), ...ends, found: 'verified' },
  '`verified: false` in bulk': { run: putAll({ verified: false }), ...ends, found: 'verified' },
  '`verified: true`': { run: put({ verified: true }), ...stays, links: 'end' },
  '`verified: true` in bulk': {
    run: putEach({ verified: true }),
    ...stays,
    links: 'end',
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
  'the end of sessions by a search for the user': {
    run: (target) => admin.delete(`/api/v1/sessions?search=${target.email}`),
    ...ends,
  },
  'the end of sessions by the user': {
    run: (target) => admin.delete(`/api/v1/sessions?user_id=${target.id}`),
    ...ends,
  },
  'the end of sessions by an address': {
    run: (target) => admin.delete(`/api/v1/sessions?user_id=${target.id}&address=127.0.0.1`),
    ...endsSome,
    // Whoever acts does so from there, too.
    acting: 'end',
  },
  'an unlock': {
    run: (target) => admin.post(pathOf(target, '/unlock')),
    ...stays,
    links: 'end',
    found: 'locked',
  },
  'a reset of the second factors': {
    run: (target) => admin.post(pathOf(target, '/factors/reset'), {}),
    ...ends,
    factors: 'end',
  },
  'forgotten devices': {
    run: (target) => admin.delete(pathOf(target, '/devices')),
    ...stays,
    links: 'end',
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
  personal: string;
  acting: string;
  /** Links that are only looked up. */
  others: { purpose: Purpose; token: string }[];
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
  const program = await browser.post('/api/v1/users/me/tokens', {
    name: 'Program',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const acting = await actAs(admin, person);
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
    personal: program.body.data.token,
    acting: acting.body.data.access_token,
    others: await Promise.all(
      (['recover', 'change_email', 'revert_email'] as const).map(async (purpose) => ({
        purpose,
        token: await issueLink(person, purpose),
      })),
    ),
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

/** Issues a link that no operation is asked for here; one that belongs to a change of the address, with that change. */
async function issueLink({ id }: { id: string }, purpose: Purpose): Promise<string> {
  const [row] = await service.sql<{ id: string; email: string; link_epoch: number }>(
    'select id, email, link_epoch from users where id = $1',
    [id],
  );
  assert.ok(row);
  const change = purpose === 'recover' ? null : randomUUID();
  if (change !== null)
    await service.sql(
      `insert into email_changes (id, user_id, former_email, new_email, session_id, session_epoch, confirmed_at)
       select $1, u.id, u.email, 'new-' || u.email, $1, u.session_epoch, case when $3 then now() end
       from users u where u.id = $2`,
      [change, id, purpose === 'revert_email'],
    );
  return (
    (await inTransaction(db, (tx) => issueOneTimeToken(tx, purpose, row, change))) ?? assert.fail('no link')
  );
}

async function setFound(target: Target, found: Operation['found']): Promise<void> {
  await setState(target.id, { verified: found === 'verified', is_active: found !== 'inactive' });
  if (found === 'locked') await lock(target);
}

const lock = ({ email }: { email: string }): Promise<unknown> =>
  service.sql(
    `insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')
     on conflict (email) do update set locked_until = excluded.locked_until`,
    [email],
  );

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

  for (const [name, { sessions, personal, acting, links, pending, trust, factors }] of Object.entries(
    operations,
  )) {
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

    test(`${name}: personal tokens ${personal}, who acts as the user ${acting}s`, async () => {
      for (const [token, becomes] of [
        [target().personal, personal],
        [target().acting, acting],
      ] as const)
        assert.equal((await me(visitor, token)).status, becomes === 'end' ? 401 : 200);
    });

    test(`${name}: links that recover and that concern the address ${links}`, async () => {
      for (const { purpose, token } of target().others) {
        const owner = await findTokenOwner(db, purpose, token);
        assert.equal(owner?.user_id, links === 'end' ? undefined : target().id, purpose);
      }
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

/** What an account has that nobody can sign in to: one that is invited, and one that its owner deleted. */
const waitingAccounts: Record<
  'invitation' | 'undo_deletion',
  { make: () => Promise<{ id: string; email: string; token: string }>; without: RegExp }
> = {
  invitation: {
    make: async () => {
      const email = newEmail('invited');
      const { id } = (await admin.post('/api/v1/users/invitations', { email, role_id: [role] })).body.data;
      return { id, email, token: await linkTo(service, email, 'invitation') };
    },
    // Such an account has neither sessions nor factors, is active and not verified.
    without: /^(the end of (the session|sessions)|a reset of|reactivation|`verified: false`)/,
  },
  undo_deletion: {
    make: async () => {
      const person = await addPerson(service, { roles: [role] });
      const browser = await signIn(service, person);
      assert.equal((await browser.delete(paths.me, { current_password: INITIAL })).status, 202);
      return { ...person, token: await linkTo(service, person.email, 'deletion_planned') };
    },
    // Such an account has neither sessions nor factors, and is verified.
    without: /^(the end of (the session|sessions)|a reset of|`verified: true`|unchanged values)/,
  },
};

for (const [purpose, { make, without }] of Object.entries(waitingAccounts))
  for (const [name, { run, links, found }] of Object.entries(operations))
    if (!without.test(name))
      test(`${name}: a link of the purpose ${purpose} ${links}s`, async () => {
        const target = { ...(await make()), sessionId: '' };
        await trustDevice(target);
        if (found === 'locked') await lock(target);
        const isOpen = async () =>
          (await findTokenOwner(db, purpose as Purpose, target.token))?.user_id === target.id;
        assert.ok(await isOpen());
        const answer = await run(target);
        assert.equal(answer.status, 200, answer.text);
        assert.equal(await isOpen(), links === 'stay');
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
  for (const token of [target.personal, target.acting]) assert.equal((await me(visitor, token)).status, 401);
  for (const { purpose, token } of target.others)
    assert.equal(await findTokenOwner(db, purpose, token), undefined, purpose);
  const reset = { token: target.reset, new_password: PASSWORD };
  assert.equal((await visitor.post(paths.confirmReset, reset)).body.code, 'reset_token_invalid');
  for (const table of [
    'devices',
    'personal_tokens',
    'email_changes',
    'totp_factors',
    'recovery_codes',
    'pending_sign_ins',
    'one_time_tokens',
  ])
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
