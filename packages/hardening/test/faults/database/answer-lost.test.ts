// A creating request whose answer is lost after its commit: the retry with its Idempotency-Key gets the first answer.
// The test cuts at the database driver, where a crash would. It must not change code of the service.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { until } from '@castellan/embedded-postgres/testing';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { openProcess } from '@castellan/testing/start/service-process';
import pg from 'pg';
import { hold, lastFirst, NO_HANG_MS } from './fixture.ts';

const scenario = scenariosOf('faults');

/** Lets the database make the next commit of new records, not one of a background job, and hides its result. */
function loseNextCommit(): { readonly isLost: boolean; restore(): void } {
  const { query } = pg.Client.prototype;
  const creating = new WeakSet<pg.Client>();
  let isLost = false;
  pg.Client.prototype.query = function losing(this: pg.Client, ...args: unknown[]) {
    const answer = (query as (...all: unknown[]) => unknown).apply(this, args);
    const [first] = args;
    const text = typeof first === 'string' ? first : (first as { text?: string }).text;
    if (/insert into "?(roles|users|role_groups)\b/.test(text ?? '')) creating.add(this);
    if (isLost || text !== 'commit' || !creating.has(this)) return answer;
    isLost = true;
    return (answer as Promise<unknown>).then(() => {
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    });
  } as typeof query;
  return {
    get isLost() {
      return isLost;
    },
    restore: () => {
      pg.Client.prototype.query = query;
    },
  };
}

const makes: Readonly<Record<string, () => object>> = {
  roles: () => ({ name: `Role ${randomUUID()}`, description: 'made once' }),
  users: () => ({ email: newEmail(), password: PASSWORD, first_name: 'Ida', last_name: 'Wells' }),
  'role-groups/bulk': () => [{ name: `Group ${randomUUID()}` }, { name: `Group ${randomUUID()}` }],
};

scenario(
  'a retry after a lost commit gets the first answer with its ETag, and makes no second record',
  async (tally, t) => {
    const service = await startTestService(lastFirst(t));
    const admin = await signIn(service, ADMIN);
    const rows = async (): Promise<number> =>
      (
        await service.sql<{ count: number }>(
          'select (select count(*) from roles)::int + (select count(*) from users)::int + (select count(*) from role_groups)::int as count',
        )
      )[0]?.count ?? 0;
    for (let round = 0; round < rounds(1, 10); round += 1)
      for (const [path, make] of Object.entries(makes)) {
        const body = make();
        const keyed = { headers: { 'idempotency-key': randomUUID() } };
        const before = await rows();
        const loss = loseNextCommit();
        const lost = await admin.post(`/api/v1/${path}`, body, keyed).finally(loss.restore);
        assert.ok(loss.isLost);
        tally.injected();
        assert.equal(lost.status, 503, lost.text);
        const made = await rows();
        assert.ok(made > before, `${path}: nothing was committed`);
        const [retried, again] = [
          await admin.post(`/api/v1/${path}`, body, keyed),
          await admin.post(`/api/v1/${path}`, body, keyed),
        ];
        assert.equal(retried.status, 201, retried.text);
        assert.equal(retried.headers.get('idempotency-replayed'), 'true');
        assert.equal(again.text, retried.text);
        assert.equal(await rows(), made, `${path}: a second record`);
        const id = retried.body.data.id;
        if (id !== undefined) {
          const read = await admin.get(`/api/v1/${path}/${id}`);
          assert.deepEqual(retried.body.data, read.body.data);
          assert.equal(retried.headers.get('etag'), read.headers.get('etag'));
        }
        tally.tried(3);
        tally.held(5);
      }
  },
);

scenario(
  'after a kill between commit and answer, a retry at another instance gets the answer',
  async (tally, t) => {
    const { child, client, databaseUrl, sql, another } = await openProcess(t);
    const admin = client();
    assert.equal((await admin.login(ADMIN)).status, 200);
    const body = { email: newEmail(), password: PASSWORD, first_name: 'Ada', last_name: 'Love' };
    const keyed = { headers: { 'idempotency-key': randomUUID() } };
    const { url } = await another();
    await admin.get('/api/v1/users/me');
    // The commit waits in a deferred trigger, and PostgreSQL completes it after its client is dead.
    await sql(`create table gate ();
      create function pass_gate() returns trigger language plpgsql as $$
      begin lock table gate in access share mode; return null; end $$;
      create constraint trigger pass_gate after insert on users deferrable initially deferred
        for each row execute function pass_gate()`);
    const held = await hold(t, databaseUrl, 'lock table gate in access exclusive mode');
    const first = admin.post('/api/v1/users', body, keyed).catch(() => null);
    await held.waiting(1);
    child.kill('SIGKILL');
    await child.ended;
    tally.injected();
    assert.equal(await first, null);
    await held.release();
    await until(
      'the database has committed',
      async () => (await sql('select from users where email = $1', [body.email])).length === 1,
      NO_HANG_MS,
    );
    const retried = await admin.at(url).post('/api/v1/users', body, keyed);
    assert.equal(retried.status, 201, retried.text);
    assert.equal(retried.headers.get('idempotency-replayed'), 'true');
    assert.equal(retried.body.data.email, body.email);
    tally.tried(2);
    tally.held(3);
  },
);
