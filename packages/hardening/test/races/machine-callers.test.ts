// Service accounts, their keys and tokens, and sessions in bulk: what an answer has ended is refused to every request
// that begins after it, at both instances. It must not decide which request of a volley comes first.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { eventually, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { makePermission, newName, permissionId } from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import {
  addApiKey,
  addServiceAccount,
  type TestServiceAccount,
} from '@castellan/testing/service-accounts/accounts';
import { basicOf, clientToken, formRequest } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import pg from 'pg';
import { countDeadlocks } from './administration/pair.ts';
import {
  assertNothingOpens,
  login,
  openInstances,
  opens,
  type RequestSpec,
  refresh,
  refreshes,
  sendAmong,
  sendAtOnce,
  sendDuring,
  times,
} from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances(
  { after },
  { ACCOUNT_LOCKOUT_ATTEMPTS: '1000', CONCURRENT_SESSION_LIMIT: '0', TRUSTED_PROXIES: '127.0.0.1' },
);
const { service, admin } = instances;
/** A client without cookies, as programs are. */
const program = service.client();
const observer = await addServiceAccount(service, { permissions: ['token.introspect'] });
const DAY_SECONDS = 86_400;
/** What `usesOf` needs. */
const USED = ['role.read', 'role.create', 'token.introspect'];

let networks = 0;
/** Returns a request with this credential. Each comes from a network of its own: wrong keys are limited by network. */
function withBearer(credential: string, request: RequestSpec): RequestSpec {
  networks += 1;
  const headers = {
    authorization: `Bearer ${credential}`,
    'x-csrf-token': null,
    'x-forwarded-for': `${10 + (networks >> 16)}.${(networks >> 8) & 255}.${networks & 255}.1`,
  };
  return { client: program, ...request, headers: { ...headers, ...request.headers } };
}

const inForm = (
  endpoint: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): RequestSpec => {
  const { raw, headers: own } = formRequest(form, headers);
  return { path: `/api/v1/oauth/${endpoint}`, raw, headers: own };
};

const evaluationOf = (type: string, id: string, permission: string): RequestSpec => {
  const dot = permission.lastIndexOf('.');
  return {
    path: '/api/v1/access/v1/evaluation',
    json: {
      subject: { type, id },
      action: { name: permission.slice(dot + 1) },
      resource: { type: permission.slice(0, dot), id: 'any' },
    },
  };
};

type Credentials = { account: TestServiceAccount; key: string; tokens: string[] };

/** Returns a read, a write, a decision and an introspection with the key and with each token, and an exchange of the key. */
const usesOf = ({ account, key, tokens }: Credentials): RequestSpec[] => [
  withBearer(key, inForm('token', { grant_type: 'client_credentials' }, basicOf(account.id, key))),
  ...[key, ...tokens].flatMap((credential) => [
    withBearer(credential, { method: 'GET', path: '/api/v1/roles' }),
    withBearer(credential, { path: '/api/v1/roles', json: { name: newName('made') } }),
    withBearer(credential, evaluationOf('service_account', account.id, 'role.read')),
    withBearer(credential, inForm('introspect', { token: credential })),
  ]),
];

const isSuccess = ({ status }: Answer): boolean => status === 200 || status === 201;
const codeOf = ({ status, body }: Answer): string | number =>
  status < 300 ? 'done' : (body?.code ?? body?.error ?? status);

/** Throws with the text of the first answer that is neither a success nor one of these refusals. */
function assertDoneOr(answers: readonly Answer[], refusals: readonly string[]): number {
  for (const answer of answers)
    assert.ok(['done', ...refusals].includes(String(codeOf(answer))), `${answer.status}: ${answer.text}`);
  return answers.length;
}

const tokensIn = (answers: readonly Answer[]): string[] =>
  answers.flatMap(({ body }) => body?.access_token ?? []);

/** Checks that both instances refuse every use, and tell others that nothing of this is active. */
async function assertEnded(credentials: Credentials, refusals: readonly string[]): Promise<number> {
  let count = 0;
  for (const round of [0, 1]) {
    const answers = await sendAtOnce(instances, usesOf(credentials), round);
    for (const answer of answers) {
      assert.equal(answer.status, 401, answer.text);
      assert.ok(refusals.includes(String(codeOf(answer))), answer.text);
    }
    const told = await sendAtOnce(
      instances,
      [credentials.key, ...credentials.tokens].map((token) =>
        withBearer(observer.key, inForm('introspect', { token })),
      ),
      round,
    );
    for (const { text } of told) assert.equal(text, '{"active":false}');
    count += answers.length + told.length;
  }
  return count;
}

type End = {
  act(account: TestServiceAccount): RequestSpec;
  /** The code of a request with the key. */
  refusal: string;
};
/** The codes of requests with a token, and of the token services. */
const ANY_END = ['token_revoked', 'token_expired', 'invalid_client'];
const accounts = '/api/v1/service-accounts';
const ends: Record<string, End> = {
  'revokes a key': {
    act: ({ id, keyId }) => ({ method: 'DELETE', path: `${accounts}/${id}/keys/${keyId}` }),
    refusal: 'api_key_revoked',
  },
  'rotates a key without overlap': {
    act: ({ id, keyId }) => ({
      path: `${accounts}/${id}/keys/${keyId}/rotate`,
      json: { overlap_seconds: 0 },
    }),
    refusal: 'api_key_expired',
  },
  'deactivates the account': {
    act: ({ id }) => ({ method: 'PUT', path: `${accounts}/${id}`, json: { is_active: false } }),
    refusal: 'service_account_inactive',
  },
  'deletes the account': {
    act: ({ id }) => ({ method: 'DELETE', path: `${accounts}/${id}` }),
    refusal: 'api_key_invalid',
  },
};

for (const [what, { act, refusal }] of Object.entries(ends))
  scenario(
    `no request that begins after the answer that ${what} passes with the key or its tokens, at any instance`,
    async (tally) => {
      // A write whose key ends after it was authorized answers `api_key_revoked`, whatever the reason.
      const refusals = [refusal, 'api_key_revoked', ...ANY_END];
      for (let round = 0; round < rounds(1, 12); round += 1) {
        const account = await addServiceAccount(service, { permissions: USED });
        const credentials = { account, key: account.key, tokens: [await clientToken(service, account)] };
        const before = await sendAtOnce(instances, usesOf(credentials), round);
        for (const answer of before) assert.ok(isSuccess(answer), answer.text);
        const [[acted, late], early] = await sendUntilEnded(round, { client: admin, ...act(account) }, () =>
          usesOf(credentials),
        );
        tally.tried(before.length + early.length + late.length + 1);
        assert.ok(acted.status < 300, acted.text);
        // A decision about an account that is deleted meanwhile is one about somebody else.
        tally.held(assertDoneOr(early, [...refusals, 'permission_denied']));
        for (const answer of late) assert.ok(refusals.includes(String(codeOf(answer))), answer.text);
        const tokens = [...credentials.tokens, ...tokensIn([...before, ...early])].slice(-8);
        tally.held(late.length + (await assertEnded({ ...credentials, tokens }, refusals)));
        if (refusal !== 'service_account_inactive') continue;
        // An activation revives the key, and no token.
        await admin.put(`${accounts}/${account.id}`, { is_active: true });
        const revived = await sendAtOnce(instances, usesOf({ ...credentials, tokens: [] }), round);
        for (const answer of revived) assert.ok(isSuccess(answer), answer.text);
        const dead = tokens.map((token) => withBearer(token, { method: 'GET', path: '/api/v1/roles' }));
        for (const answer of await sendAtOnce(instances, dead, round))
          assert.equal(codeOf(answer), 'token_revoked');
        tally.held(revived.length + dead.length);
      }
      tally.held(await assertSound(service));
    },
  );

/** Sends the request at once and as a whole: a volley holds part of it back for a moment. */
function sendNow(
  url: string,
  { client = program, method = 'POST', path, ...request }: RequestSpec,
): Promise<Answer> {
  const { json, raw, headers } = request;
  return client.at(url).request(method, path, {
    ...(json === undefined ? {} : { json }),
    ...(raw === undefined ? {} : { raw }),
    ...(headers === undefined ? {} : { headers }),
  });
}

/**
 * Sends `act` with a volley of the uses, and more of them until it is answered. In the tick of its answer it sends the
 * uses once more, at once and as a volley. Returns the answer with those of these last uses, then all others.
 */
async function sendUntilEnded(
  round: number,
  act: RequestSpec,
  uses: () => readonly RequestSpec[],
): Promise<[[Answer, Answer[]], Answer[]]> {
  let late: Answer[] = [];
  const [acted, early] = await sendDuring(
    instances,
    async () => {
      const [answer] = await sendAtOnce(instances, [act], round);
      const now = [service, instances.twin].flatMap(({ url }) => uses().map((use) => sendNow(url, use)));
      late = [...(await sendAtOnce(instances, uses(), round + 1)), ...(await Promise.all(now))];
      return answer as Answer;
    },
    uses,
  );
  assert.ok(late.length > 0);
  return [[acted, late], early];
}

type ListedKey = { id: string; expires_at: string | null; revoked_at: string | null };
/** Returns the ids of the live keys of an account, by the clock of the database. */
async function liveKeysOf(accountId: string): Promise<string[]> {
  const { body } = await admin.get(`${accounts}/${accountId}/keys`);
  const [row] = await service.sql<{ now: Date }>('select clock_timestamp() as now');
  const now = row?.now as Date;
  return body.data
    .filter(
      ({ expires_at, revoked_at }: ListedKey) =>
        revoked_at === null && (expires_at === null || Date.parse(expires_at) > now.getTime()),
    )
    .map(({ id }: ListedKey) => id)
    .sort();
}

const rotate = ({ id, keyId }: TestServiceAccount, overlapSeconds: number): RequestSpec => ({
  client: admin,
  path: `${accounts}/${id}/keys/${keyId}/rotate`,
  json: { overlap_seconds: overlapSeconds },
});
const read = (key: string): RequestSpec => withBearer(key, { method: 'GET', path: '/api/v1/roles' });

/** Checks that both instances accept the key, or that both refuse it. */
async function assertAccepted(key: string, expected: boolean): Promise<number> {
  for (const answer of await sendAtOnce(instances, [read(key), read(key)]))
    assert.equal(answer.status, expected ? 200 : 401, answer.text);
  return 2;
}

scenario(
  'of many rotations of one key without overlap at once one succeeds, and only its successor is live',
  async (tally) => {
    for (let round = 0; round < rounds(4, 40); round += 1) {
      const account = await addServiceAccount(service, { permissions: USED });
      const answers = await sendAtOnce(
        instances,
        times(8, () => rotate(account, 0)),
        round,
      );
      tally.tried(answers.length);
      const [made, ...more] = answers.filter(isSuccess);
      assert.ok(made);
      assert.deepEqual(
        more.map(({ body }) => body.data.id),
        [],
        'a second rotation succeeded',
      );
      assert.equal(assertDoneOr(answers, ['key_ended']), 8);
      assert.deepEqual(await liveKeysOf(account.id), [made.body.data.id]);
      tally.held(9 + (await assertAccepted(account.key, false)));
      tally.held(await assertAccepted(made.body.data.key, true));
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'each rotation of one key with an overlap has one live successor, and one without an overlap ends the key',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const account = await addServiceAccount(service, { permissions: USED });
      const overlapping = await sendAtOnce(
        instances,
        times(6, (index) => rotate(account, DAY_SECONDS + index)),
        round,
      );
      for (const answer of overlapping) assert.equal(answer.status, 201, answer.text);
      const successors = overlapping.map(({ body }) => body.data.id);
      assert.deepEqual(await liveKeysOf(account.id), [account.keyId, ...successors].sort());
      tally.held(7 + (await assertAccepted(account.key, true)));
      const [ended, others] = await sendAmong(
        instances,
        round,
        rotate(account, 0),
        times(7, () => rotate(account, DAY_SECONDS)),
      );
      tally.tried(14);
      assert.equal(ended.status, 201, ended.text);
      assertDoneOr(others, ['key_ended']);
      const all = [...overlapping, ended, ...others].filter(isSuccess);
      assert.deepEqual(await liveKeysOf(account.id), all.map(({ body }) => body.data.id).sort());
      tally.held(9 + (await assertAccepted(account.key, false)));
      for (const { body } of all) tally.held(await assertAccepted(body.data.key, true));
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'no request that begins after a key has expired passes with it or its tokens, at any instance',
  async (tally) => {
    const refusals = ['api_key_expired', 'api_key_revoked', ...ANY_END];
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const account = await addServiceAccount(service, { permissions: USED });
      const tokens = [await clientToken(service, account)];
      const { key, keyId } = await addApiKey(service, account.id, { expiresInSeconds: 3 });
      const credentials = { account, key, tokens: [await clientToken(service, { id: account.id, key })] };
      const isOver = async (): Promise<boolean> =>
        (await service.sql('select from api_keys where id = $1 and expires_at <= clock_timestamp()', [keyId]))
          .length > 0;
      const answers: Answer[] = [];
      while (!(await isOver())) answers.push(...(await sendAtOnce(instances, usesOf(credentials), round)));
      tally.tried(answers.length);
      assert.ok(answers.some(isSuccess));
      tally.held(assertDoneOr(answers, refusals));
      tally.held(
        await assertEnded(
          { ...credentials, tokens: [...credentials.tokens, ...tokensIn(answers).slice(-8)] },
          refusals,
        ),
      );
      // The other key of the account and its token do not expire.
      for (const one of [account.key, ...tokens]) tally.held(await assertAccepted(one, true));
    }
    tally.held(await assertSound(service));
  },
);

/**
 * Locks the row of the user, starts `writes` and waits until each waits for a lock. Then it awaits `meanwhile`, releases
 * the row, and returns what `writes` returns.
 */
async function whileUserIsHeld<T>(
  userId: string,
  { writes, waiters }: { writes: () => Promise<T>; waiters: number },
  meanwhile: () => Promise<unknown>,
): Promise<T> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  let running: Promise<T>;
  try {
    await holder.query('begin');
    await holder.query('select from users where id = $1 for update', [userId]);
    running = writes();
    await eventually(async () => {
      const waiting = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length >= waiters || undefined;
    }, `${waiters} writes that wait for the user`);
    await meanwhile();
  } finally {
    await holder.end();
  }
  return running;
}

const send = async (request: RequestSpec): Promise<Answer> => {
  const [answer] = await sendAtOnce(instances, [{ client: admin, ...request }]);
  assert.ok(answer && answer.status < 300, answer?.text);
  return answer;
};

type Loss = { apply(account: TestServiceAccount, roleId: string): Promise<unknown>; refusal: string };
const ending = (end: keyof typeof ends): Loss => ({
  apply: (account) => send((ends[end] as End).act(account)),
  refusal: 'api_key_revoked',
});
const losses: Record<string, Loss> = {
  'whose key by then is revoked': ending('revokes a key'),
  'whose key by then is rotated without overlap': ending('rotates a key without overlap'),
  'whose key by then has expired': {
    apply: ({ keyId }) =>
      service.sql('update api_keys set expires_at = clock_timestamp() where id = $1', [keyId]),
    refusal: 'api_key_revoked',
  },
  'who by then is deactivated': ending('deactivates the account'),
  'who by then is deleted': ending('deletes the account'),
  'who by then has lost all roles': {
    apply: ({ id }) => send({ method: 'PUT', path: `${accounts}/${id}`, json: { role_ids: [] } }),
    refusal: 'permission_denied',
  },
  'who by then has lost a permission of their role': {
    apply: async (_account, role_id) =>
      send({
        path: '/api/v1/access/changes',
        json: {
          changes: [{ role_id, remove_permission_ids: [await permissionId(service, 'users.update')] }],
        },
      }),
    refusal: 'permission_denied',
  },
};
for (const [what, { apply, refusal }] of Object.entries(losses))
  scenario(`no write that waited is done for a service account ${what}`, async (tally) => {
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const role = await addRole(service, 'users.update', 'user.update');
      const account = await addServiceAccount(service, { roles: [role] });
      const token = await clientToken(service, account);
      const person = await addPerson(service);
      const requests = [account.key, token].map((credential) =>
        withBearer(credential, {
          method: 'PUT',
          path: `/api/v1/users/${person.id}`,
          json: { first_name: 'Grace' },
        }),
      );
      const answers = await whileUserIsHeld(
        person.id,
        { writes: () => sendAtOnce(instances, requests, round), waiters: requests.length },
        () => apply(account, role),
      );
      tally.tried(requests.length);
      for (const answer of answers) assert.equal(codeOf(answer), refusal, answer.text);
      const [row] = await service.sql('select first_name from users where id = $1', [person.id]);
      assert.deepEqual(row, { first_name: 'Ada' });
      tally.held(requests.length + 1);
    }
    tally.held(await assertSound(service));
  });

scenario(
  'a rotation that waited while another one ended the key is refused, and the key has one successor',
  async (tally) => {
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const account = await addServiceAccount(service, { permissions: USED });
      const boss = await addPerson(service, { superuser: true });
      const client = await signIn(service, boss);
      await client.prepare('POST');
      let made: Answer | undefined;
      const [waited] = await whileUserIsHeld(
        boss.id,
        {
          writes: () => sendAtOnce(instances, [{ ...rotate(account, DAY_SECONDS), client }], round),
          waiters: 1,
        },
        async () => {
          made = await send(rotate(account, 0));
        },
      );
      tally.tried(2);
      assert.deepEqual([waited?.status, waited?.body.code], [409, 'key_ended'], waited?.text);
      assert.deepEqual(await liveKeysOf(account.id), [made?.body.data.id]);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

type Narrowing = {
  take(account: TestServiceAccount, roleId: string): Promise<RequestSpec>;
  giveBack(account: TestServiceAccount, roleId: string): Promise<RequestSpec>;
};
const creating = (): Promise<string> => permissionId(service, 'role.create');
const putRoles = async (id: string, role_ids: string[]): Promise<RequestSpec> => ({
  method: 'PUT',
  path: `${accounts}/${id}`,
  json: { role_ids },
});
const change = async (item: object): Promise<RequestSpec> => ({
  path: '/api/v1/access/changes',
  json: { changes: [item] },
});
const narrowings: Record<string, Narrowing> = {
  'removes the role of a service account': {
    take: ({ id }) => putRoles(id, []),
    giveBack: ({ id }, role) => putRoles(id, [role]),
  },
  'removes the role of a service account by a change of access': {
    take: ({ id: service_account_id }, role) => change({ service_account_id, remove_role_ids: [role] }),
    giveBack: ({ id: service_account_id }, role) => change({ service_account_id, add_role_ids: [role] }),
  },
  'removes a permission of its role': {
    take: async (_account, role) => ({
      method: 'DELETE',
      path: `/api/v1/roles/${role}/permissions/${await creating()}`,
    }),
    giveBack: async (_account, role) => ({
      path: `/api/v1/roles/${role}/permissions`,
      json: [await creating()],
    }),
  },
};

/** Returns a decision, a search, an introspection and a write that all tell whether the account may create roles. */
const asksOf = ({ account, key, tokens }: Credentials): RequestSpec[] =>
  [key, ...tokens].flatMap((credential) => [
    withBearer(credential, { path: '/api/v1/roles', json: { name: newName('made') } }),
    withBearer(credential, evaluationOf('service_account', account.id, 'role.create')),
    withBearer(credential, {
      path: '/api/v1/access/v1/search/action',
      json: { subject: { type: 'service_account', id: account.id }, resource: { type: 'role', id: 'any' } },
    }),
    withBearer(observer.key, inForm('introspect', { token: credential, include: 'permissions' })),
  ]);

/** Returns whether the answer to one of `asksOf` says yes. */
function saysYes({ status, body, text }: Answer): boolean {
  if (status === 201) return true;
  if (status !== 200) {
    assert.equal(body?.code, 'permission_denied', text);
    return false;
  }
  if (typeof body.decision === 'boolean') return body.decision;
  return body.results
    ? body.results.some(({ name }: { name: string }) => name === 'create')
    : body.permissions.includes('role.create');
}

for (const [what, { take, giveBack }] of Object.entries(narrowings))
  scenario(
    `every decision that begins after the answer that ${what} is no, at any instance, and yes after it is back`,
    async (tally) => {
      for (let round = 0; round < rounds(1, 12); round += 1) {
        const role = await addRole(service, 'role.create');
        const account = await addServiceAccount(service, { roles: [role] });
        const credentials = { account, key: account.key, tokens: [await clientToken(service, account)] };
        for (const [step, expected] of [
          [take, false],
          [giveBack, true],
        ] as const) {
          const [[acted, late], early] = await sendUntilEnded(
            round,
            { client: admin, ...(await step(account, role)) },
            () => asksOf(credentials),
          );
          assert.ok(acted.status < 300, acted.text);
          for (const answer of early) saysYes(answer);
          const last = await sendAtOnce(instances, asksOf(credentials), round);
          for (const answer of [...late, ...last]) assert.equal(saysYes(answer), expected, answer.text);
          tally.tried(1 + early.length + late.length + last.length);
          tally.held(early.length + late.length + last.length);
        }
      }
      tally.held(await assertSound(service));
    },
  );

scenario(
  'a bulk end of sessions ends each one that was there before, and those of concurrent sign-ins are live or ended as a whole',
  async (tally) => {
    for (let round = 0; round < rounds(2, 15); round += 1) {
      const crowd = newName('crowd');
      const users = await Promise.all(
        times(3, (index) => addPerson(service, { email: `${crowd}-${index}x@example.com` })),
      );
      const bystander = await signIn(service, await addPerson(service));
      const clients = await Promise.all(users.flatMap((user) => times(2, () => signIn(service, user))));
      const filter = new URLSearchParams(
        round % 2 === 0
          ? { search: `${crowd}-` }
          : { search: `${crowd}-`, older_than: '9999-01-01T00:00:00Z', address: '127.0.0.0/8' },
      );
      const renewals = clients.map(({ refreshToken }) => refresh(refreshToken));
      const logins = users.flatMap(({ email, password }) => times(4, () => login(email, password)));
      const [ended, answers] = await sendAmong(
        instances,
        round,
        { client: admin, method: 'DELETE', path: `/api/v1/sessions?${filter}` },
        [...renewals, ...logins],
      );
      // In the next tick, on both instances.
      const later = await sendAtOnce(
        instances,
        users.flatMap(({ email, password }) => times(2, () => login(email, password))),
        round,
      );
      tally.tried(1 + answers.length + later.length);
      assert.equal(ended.status, 200, ended.text);
      assert.ok(ended.body.data.sessions >= clients.length, ended.text);
      assert.equal(ended.body.data.users, users.length);
      const renewed = answers.slice(0, renewals.length);
      tally.held(assertDoneOr(renewed, ['refresh_token_invalid', 'token_revoked']));
      tally.held(await assertNothingOpens(instances, renewed));
      for (const client of clients) {
        assert.equal(await opens(instances, client.accessToken as string), false);
        assert.equal(await refreshes(instances, client.refreshToken as string), false);
      }
      const started = answers.slice(renewals.length);
      for (const { status, body, text } of [...started, ...later]) {
        assert.equal(status, 200, text);
        const isLive = await opens(instances, body.data.access_token);
        assert.equal(await refreshes(instances, body.data.refresh_token), isLive);
      }
      for (const { body } of later) assert.ok(await opens(instances, body.data.access_token));
      assert.ok(await opens(instances, bystander.accessToken as string));
      tally.held(2 * clients.length + started.length + 2 * later.length + 3);
    }
    tally.held(await assertSound(service));
  },
);

const [NEW] = strongPasswords;

scenario(
  'after the answer that demands a new password every other operation is refused, also one that waited, until it is changed',
  async (tally) => {
    const role = await addRole(
      service,
      'role.read',
      'role.create',
      'user.update',
      'users.update',
      'self.update_profile',
    );
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const pair = await Promise.all(times(2, () => addPerson(service, { roles: [role] })));
      // Rows are locked in the order of ids, so a request of `person` that waits for `other` has not locked its own row.
      const [other, person] = pair.sort((a, b) => (a.id < b.id ? -1 : 1)) as [Person, Person];
      const client = await signIn(service, person);
      // So that its requests can start at the same moment.
      await client.prepare('POST');
      const uses = (): RequestSpec[] => [
        { client, method: 'GET', path: '/api/v1/roles' },
        { client, path: '/api/v1/roles', json: { name: newName('made') } },
        { client, method: 'GET', path: '/api/v1/dashboard' },
        { client, method: 'GET', path: '/api/v1/auth/sessions' },
        { client, method: 'PUT', path: paths.me, json: { first_name: 'Grace' } },
        { client, ...evaluationOf('user', person.id, 'role.read') },
      ];
      const demand = (wanted: boolean): RequestSpec => ({
        client: admin,
        method: 'PUT',
        path: `/api/v1/users/${person.id}`,
        json: { must_change_password: wanted },
      });
      for (const answer of await sendAtOnce(instances, uses(), round))
        assert.ok(isSuccess(answer), answer.text);
      const [[acted, late], early] = await sendUntilEnded(round, demand(true), uses);
      assert.equal(acted.status, 200, acted.text);
      tally.held(assertDoneOr(early, ['password_change_required']));
      for (const answer of [...late, ...(await sendAtOnce(instances, uses(), round + 1))])
        assert.deepEqual([answer.status, codeOf(answer)], [403, 'password_change_required'], answer.text);
      for (const one of await sendAtOnce(
        instances,
        times(2, () => ({ client, method: 'GET', path: paths.me })),
      ))
        assert.equal(one.body.data?.must_change_password, true, one.text);
      await send(demand(false));
      const [waited] = await whileUserIsHeld(
        other.id,
        {
          writes: () =>
            sendAtOnce(instances, [
              {
                client,
                method: 'PUT',
                path: `/api/v1/users/${other.id}`,
                json: { first_name: 'Grace' },
              },
            ]),
          waiters: 1,
        },
        () => send(demand(true)),
      );
      assert.deepEqual([waited?.status, waited && codeOf(waited)], [403, 'password_change_required']);
      const changed = await client.post(paths.changePassword, {
        current_password: person.password,
        new_password: NEW,
      });
      assert.equal(changed.status, 200, changed.text);
      client.accessToken = changed.body.data.access_token;
      const open = await sendAtOnce(instances, uses(), round);
      for (const answer of open) assert.ok(isSuccess(answer), answer.text);
      tally.tried(early.length + late.length + 2 * open.length + 5);
      tally.held(late.length + 2 * open.length + 3);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'changes of access that name the same records in opposite orders are each done as a whole or not at all',
  async (tally) => {
    const permission = await makePermission(admin);
    const [one, two, role] = (await Promise.all(times(3, () => addRole(service)))) as [
      string,
      string,
      string,
    ];
    const [ada, bob, stray] = await Promise.all(times(3, () => addPerson(service)));
    const [here, there] = await Promise.all(times(2, () => addServiceAccount(service)));
    await service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
      one,
      permission.id,
    ]);
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [ada?.id, role]);
    await service.sql('insert into service_account_roles (service_account_id, role_id) values ($1, $2)', [
      here?.id,
      role,
    ]);
    const CHANGING = ['access.change', 'role.update', 'user.update', permission.name];
    const robots = await Promise.all(
      times(3, () => addServiceAccount(service, { permissions: [...CHANGING, 'service_account.update'] })),
    );
    // Lacks the permission of the items for service accounts.
    const weak = await addServiceAccount(service, { permissions: CHANGING });
    /** Moves the permission and the role from one side to the other. */
    const moving = (toSecond: boolean) => {
      const [give, take] = toSecond ? ['remove', 'add'] : ['add', 'remove'];
      return [
        { role_id: one, [`${give}_permission_ids`]: [permission.id] },
        { user_id: ada?.id, [`${give}_role_ids`]: [role] },
        { service_account_id: here?.id, [`${give}_role_ids`]: [role] },
        { role_id: two, [`${take}_permission_ids`]: [permission.id] },
        { user_id: bob?.id, [`${take}_role_ids`]: [role] },
        { service_account_id: there?.id, [`${take}_role_ids`]: [role] },
      ];
    };
    const stale = { user_id: stray?.id, add_role_ids: [role], version: 999_999 };
    const unknown = { user_id: stray?.id, add_role_ids: ['00000000-0000-4000-8000-000000000000'] };
    for (let round = 0; round < rounds(4, 40); round += 1) {
      const requests = times(16, (index): RequestSpec & { expected: number } => {
        const items = index & 1 ? moving(index % 3 === 0).toReversed() : moving(index % 3 === 0);
        const [changes, expected] =
          index % 8 === 6
            ? [[...items, stale], 412]
            : index % 8 === 7
              ? [[...items, unknown], 404]
              : [items, index % 8 === 5 ? 403 : 200];
        const request = { path: '/api/v1/access/changes', json: { changes } };
        const robot = expected === 403 ? weak : robots[index % 4];
        return { ...(robot ? withBearer(robot.key, request) : { ...request, client: admin }), expected };
      });
      const answers = await sendAtOnce(
        instances,
        requests.map(({ expected: _, ...request }) => request),
        round,
      );
      tally.tried(answers.length);
      for (const [index, { status, text }] of answers.entries())
        assert.equal(status, requests[index]?.expected, text);
      const [sides] = await service.sql<{ roles: string[] }>(
        `select array(select role_id from role_permissions where permission_id = $1 and role_id = any($3)) as roles,
           array(select user_id from user_roles where role_id = $2) as users,
           array(select service_account_id from service_account_roles where role_id = $2) as accounts`,
        [permission.id, role, [one, two]],
      );
      const sideOf = (first: boolean) => ({
        roles: [first ? one : two],
        users: [first ? ada?.id : bob?.id],
        accounts: [first ? here?.id : there?.id],
      });
      assert.deepEqual(sides, sideOf(sides?.roles[0] === one));
      const written = await service.sql<{ change_id: string; entries: number }>(
        `select details->>'change_id' as change_id, count(*)::int as entries from audit_logs
         where details->>'change_id' is not null and details->>'request_id' = any($1) group by 1`,
        [answers.map(({ headers }) => headers.get('x-request-id'))],
      );
      const acknowledged = answers.flatMap(({ body }) => body.data?.change_id ?? []);
      for (const { change_id, entries } of written) {
        assert.ok(acknowledged.includes(change_id), 'a refused change left audit entries');
        // Six, or none if the permission and the role were on that side already.
        assert.equal(entries, 6);
      }
      tally.held(answers.length + 1 + written.length);
    }
    tally.held(await assertSound(service));
  },
);

scenario('neither instance logs an error in these races, and none causes a deadlock', async (tally) => {
  tally.tried();
  for (const { logLines } of [service, instances.twin]) {
    const errors = logLines.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
    assert.deepEqual(errors, []);
    tally.held();
  }
  assert.equal(await countDeadlocks(instances), 0);
  tally.held();
});
