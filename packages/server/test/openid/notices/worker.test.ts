// What applications receive when a session ends, how soon, and what happens to notices that they do not take.
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { subjectOf } from '../../../src/modules/openid/subjects.ts';
import { path, startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn, type TestApplication } from '../fixture.ts';
import { takePart, takePartMany } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { OUTBOUND_DENY: '127.0.0.9' });
const twin = await service.another();
await service.service.scheduler.stop();
await twin.service.scheduler.stop();

type Received = { path: string; method: string; type: string; token: string; at: number };
const received: Received[] = [];
const answers = new Map<string, (response: ServerResponse) => void>();
let underWay = 0;
let most = 0;

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return text;
}
const endpoint = createServer((request, response) => {
  underWay += 1;
  most = Math.max(most, underWay);
  response.once('close', () => {
    underWay -= 1;
  });
  void bodyOf(request).then((text) => {
    const where = request.url ?? '';
    received.push({
      path: where,
      method: request.method ?? '',
      type: request.headers['content-type'] ?? '',
      token: new URLSearchParams(text).get('logout_token') ?? '',
      at: Date.now(),
    });
    const answer = answers.get(where) ?? ((to: ServerResponse) => to.writeHead(200).end());
    answer(response);
  });
});
endpoint.listen(0, '127.0.0.1');
await once(endpoint, 'listening');
after(() => {
  endpoint.closeAllConnections();
  endpoint.close();
});

let count = 0;
/** Returns an application with a path of its own at the endpoint. */
async function addTold(fields: object = {}): Promise<TestApplication & { path: string }> {
  count += 1;
  const own = `/logout-${count}`;
  const url = `http://127.0.0.1:${portOf(endpoint)}${own}`;
  const application = await addApplication(admin, [service, twin], {
    backchannel_logout_url: url,
    ...fields,
  });
  return { ...application, path: own };
}
const to = ({ path: own }: { path: string }) => received.filter((one) => one.path === own);
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
const endSession = (sessionId: string) =>
  service.sql('update sessions set revoked_at = now() where id = $1', [sessionId]);
type Notice = {
  id: string;
  state: string;
  attempts: number;
  status: number | null;
  error: string | null;
  wait: number;
};
const noticesTo = ({ id }: { id: string }) =>
  service.sql<Notice>(
    `select id, state, attempts, status, error, extract(epoch from next_at - now())::float8 as wait
     from logout_notices where application_id = $1 order by id`,
    [id],
  );
/** Returns the only notice to the application once an attempt has ended. */
const settled = (application: { id: string }, attempts = 1) =>
  eventually(async () => {
    const [notice] = await noticesTo(application);
    return notice && notice.attempts >= attempts && (notice.state !== 'waiting' || notice.wait > 0)
      ? notice
      : undefined;
  }, 'the attempt');
const dueNow = (application: { id: string }) =>
  service.sql('update logout_notices set next_at = now() where application_id = $1', [application.id]);

for (const alg of ['RS256', 'ES256'] as const)
  test(`a session that SQL ends is told within a second, with a token of ${alg}`, async () => {
    const isPairwise = alg === 'ES256';
    const application = await addTold({
      id_token_signing_alg: alg,
      ...(isPairwise ? { subject_type: 'pairwise' } : {}),
    });
    const who = await addSignedIn(service);
    const sid = await takePart(service, application, who);
    const endedAt = Date.now();
    await endSession(who.sessionId);
    await eventually(() => to(application)[0], 'the notice');
    const [{ token, at, method, type } = assert.fail()] = to(application);
    assert.ok(at - endedAt < 1_000, `${at - endedAt} ms`);
    assert.deepEqual([method, type], ['POST', 'application/x-www-form-urlencoded']);
    const [header = '', body = '', signature = ''] = token.split('.');
    const { kid, ...rest } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
    assert.deepEqual(rest, { alg, typ: 'logout+jwt' });
    const jwk = service.service.deps.keyRing.publicJwks('application').find((one) => one.kid === kid);
    assert.ok(jwk);
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    assert.ok(
      verify(
        'sha256',
        Buffer.from(`${header}.${body}`),
        { key, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      ),
    );
    const { jti, iat, exp, sub, ...claims } = claimsOf(token);
    assert.deepEqual(claims, {
      iss: service.service.deps.settings.publicUrl,
      aud: application.client_id,
      sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
    assert.match(jti, /^[0-9a-f-]{36}$/);
    assert.equal(exp - iat, 120);
    assert.ok(Math.abs(iat - Date.now() / 1_000) < 5);
    const [row] = await service.sql<{ salt: Buffer }>('select salt from pairwise_salt');
    const expected = isPairwise
      ? subjectOf(
          { subject_type: 'pairwise', sector: 'app.example.com' },
          who.person.id,
          row?.salt ?? Buffer.alloc(0),
        )
      : who.person.id;
    assert.equal(sub, expected);
    const notice = await settled(application);
    assert.deepEqual([notice.state, notice.status, notice.error], ['sent', 200, null]);
    await wait(1_500);
    assert.equal(to(application).length, 1, 'told once, by one of two instances');
  });

for (const status of [400, 401, 404, 410])
  test(`${status} refuses the notice for good, which the audit log tells`, async () => {
    const application = await addTold();
    answers.set(application.path, (response) => response.writeHead(status).end('no <b>such</b> session'));
    const who = await addSignedIn(service);
    const sid = await takePart(service, application, who);
    await endSession(who.sessionId);
    const notice = await settled(application);
    assert.deepEqual([notice.state, notice.status, notice.error], ['refused', status, null]);
    const [entry] = await eventually(async () => {
      const rows = await service.sql<{ details: object }>(
        `select details from audit_logs where action = 'logout_notice_failed' and resource_id = $1`,
        [application.id],
      );
      return rows.length > 0 ? rows : undefined;
    }, 'the entry');
    assert.deepEqual(entry?.details, {
      state: 'refused',
      user_id: who.person.id,
      sid,
      status,
      error: null,
      attempts: 1,
    });
  });

for (const [what, answer, expected] of [
  ['500', (response: ServerResponse) => response.writeHead(500).end(), [500, null]],
  ['429', (response: ServerResponse) => response.writeHead(429).end(), [429, null]],
  [
    'a redirect',
    (response: ServerResponse) => response.writeHead(307, { location: '/elsewhere' }).end(),
    [307, null],
  ],
  ['no answer', (response: ServerResponse) => response.destroy(), [null, 'ECONNRESET']],
] as const)
  test(`${what} is tried again after 5 s, then after 10, with another token`, async () => {
    const application = await addTold();
    answers.set(application.path, answer);
    const who = await addSignedIn(service);
    await takePart(service, application, who);
    await endSession(who.sessionId);
    const first = await settled(application);
    assert.deepEqual([first.state, first.status, first.error], ['waiting', ...expected]);
    assert.ok(first.wait > 2 && first.wait <= 5, String(first.wait));
    await dueNow(application);
    const second = await settled(application, 2);
    assert.ok(second.wait > 6 && second.wait <= 10, String(second.wait));
    answers.delete(application.path);
    await dueNow(application);
    const last = await settled(application, 3);
    assert.deepEqual([last.state, last.status], ['sent', 200]);
    const ids = to(application).map(({ token }) => claimsOf(token).jti);
    assert.equal(new Set(ids).size, 3);
    assert.ok(!received.some((one) => one.path === '/elsewhere'));
  });

test('a notice is given up after LOGOUT_NOTICE_HOURS, and when the application is inactive or has no address', async () => {
  const [late, inactive, silent] = [await addTold(), await addTold(), await addTold()];
  const who = await addSignedIn(service);
  for (const application of [late, inactive, silent]) {
    answers.set(application.path, (response) => response.writeHead(503).end());
    await takePart(service, application, who);
  }
  await endSession(who.sessionId);
  for (const application of [late, inactive, silent])
    assert.equal((await settled(application)).state, 'waiting');
  await service.sql(
    `update logout_notices set created_at = now() - interval '25 hours' where application_id = $1`,
    [late.id],
  );
  await admin.put(`${path}/${inactive.id}`, { is_active: false });
  await admin.put(`${path}/${silent.id}`, { backchannel_logout_url: null });
  for (const [application, status, error] of [
    [late, 503, null],
    [inactive, null, 'application_inactive'],
    [silent, null, 'no_address'],
  ] as const) {
    await dueNow(application);
    const notice = await settled(application, 2);
    assert.deepEqual([notice.state, notice.status, notice.error], ['given_up', status, error]);
  }
});

test('a deleted application is told', async () => {
  const application = await addTold();
  const who = await addSignedIn(service);
  const sid = await takePart(service, application, who);
  assert.equal((await admin.delete(`${path}/${application.id}`)).status, 200);
  await eventually(() => to(application)[0], 'the notice');
  const { sid: told, aud } = claimsOf(to(application)[0]?.token ?? '');
  assert.deepEqual([told, aud], [sid, application.client_id]);
});

test('a notice is tried again when the last application is gone', async (t) => {
  const alone = await startWithAdmin(t);
  const application = await addApplication(alone.admin, [alone.service], {
    backchannel_logout_url: 'http://127.0.0.1:9/',
  });
  await takePart(alone.service, application, await addSignedIn(alone.service));
  assert.equal((await alone.admin.delete(`${path}/${application.id}`)).status, 200);
  const { keyRing } = alone.service.service.deps;
  await eventually(() => (keyRing.hasActiveApplication() ? undefined : true), 'no application');
  // Five seconds after the first attempt, when nobody has an application for a while.
  await eventually(async () => {
    const [notice] = await alone.service.sql<{ attempts: number }>('select attempts from logout_notices');
    return notice && notice.attempts >= 2 ? true : undefined;
  }, 'the second attempt');
});

test('an application that hangs has four notices at a time, and no other application waits for it', async () => {
  const [hanging, other] = [await addTold(), await addTold()];
  answers.set(hanging.path, () => {});
  const sessions = await Promise.all(Array.from({ length: 12 }, () => addSignedIn(service)));
  for (const who of sessions) await takePart(service, hanging, who);
  await takePart(service, other, sessions[0] ?? assert.fail());
  most = 0;
  const endedAt = Date.now();
  await service.sql('update sessions set revoked_at = now() where id = any($1)', [
    sessions.map(({ sessionId }) => sessionId),
  ]);
  await eventually(() => to(other)[0], 'the notice to the other application');
  assert.ok((to(other)[0]?.at ?? 0) - endedAt < 1_500);
  await wait(3_000);
  assert.equal(to(hanging).length, 8, 'four of each instance, whose leases are renewed');
  assert.ok(most <= 9, String(most));
  const failed = await eventually(
    async () => (await noticesTo(hanging)).find(({ error }) => error !== null),
    'the end of an attempt',
  );
  assert.deepEqual([failed.status, failed.error], [null, 'timeout']);
  answers.delete(hanging.path);
});

test('what an instance had claimed when it died is sent within three seconds', async () => {
  const application = await addTold();
  const who = await addSignedIn(service);
  await takePart(service, application, who);
  await service.sql(`
    create function claimed_by_the_dead() returns trigger language plpgsql as $$
    begin new.locked_until := now() + interval '2.2 seconds'; new.attempts := 1; return new; end $$;
    create trigger claimed_by_the_dead before insert on logout_notices
      for each row execute function claimed_by_the_dead()`);
  const endedAt = Date.now();
  await endSession(who.sessionId);
  await service.sql('drop function claimed_by_the_dead() cascade');
  await eventually(() => to(application)[0], 'the notice');
  const after_ = (to(application)[0]?.at ?? 0) - endedAt;
  assert.ok(after_ > 2_000 && after_ < 3_200, String(after_));
});

test('the backlog of an end with many applications is worked off', async () => {
  const who = await addSignedIn(service);
  await takePartMany(service, who, 120);
  await service.sql('update users set is_active = false where id = $1', [who.person.id]);
  await eventually(async () => {
    const [row] = await service.sql<{ notices: number; backlog: number; untold: number }>(
      `select (select count(*)::integer from logout_notices where user_id = $1) as notices,
         (select count(*)::integer from logout_backlog) as backlog,
         (select count(*)::integer from application_sessions where user_id = $1 and told_at is null) as untold`,
      [who.person.id],
    );
    return row?.notices === 120 && row.backlog === 0 && row.untold === 0 ? true : undefined;
  }, 'all notices');
  await service.sql('delete from logout_notices where user_id = $1', [who.person.id]);
});

test('a session that expires is told without a job', async () => {
  const application = await addTold();
  const who = await addSignedIn(service);
  await takePart(service, application, who);
  await service.sql('update sessions set expires_at = now() where id = $1', [who.sessionId]);
  await service.sql('update application_sessions set expires_at = now() where session_id = $1', [
    who.sessionId,
  ]);
  await eventually(() => to(application)[0], 'the notice');
});

test('addresses that are never asked: link-local ones, those of OUTBOUND_DENY, http beyond private networks', async () => {
  for (const [url, error] of [
    ['http://169.254.169.254/latest', 'address_refused'],
    ['http://127.0.0.9/', 'address_refused'],
    ['http://203.0.113.7/', 'not_https'],
  ] as const) {
    const application = await addTold();
    // As a record of a time when the address was another.
    await service.sql('update applications set backchannel_logout_url = $2 where id = $1', [
      application.id,
      url,
    ]);
    const who = await addSignedIn(service);
    await takePart(service, application, who);
    await endSession(who.sessionId);
    const notice = await settled(application);
    assert.deepEqual([notice.state, notice.status, notice.error], ['waiting', null, error], url);
  }
});
