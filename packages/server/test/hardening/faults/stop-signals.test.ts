// Other signals and a lost terminal: only a second SIGTERM ends sooner, and nothing else ends the service.
// It must not send a signal to any process but those it started.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { until } from '../../embedded/fixture.ts';
import { ADMIN, PASSWORD } from '../../harness.ts';
import { statusOf } from '../../start/child.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { headersOf, openProcess, send } from './process-fixture.ts';
import { holdUsers } from './stop-fixture.ts';

const scenario = scenariosOf('faults');

suite('signals', { concurrency: 4 }, () => {
  scenario('a second SIGTERM ends at once what the first one let finish', async (tally, t) => {
    const { child, url, databaseUrl, client } = await openProcess(t);
    const admin = client();
    await admin.login(ADMIN);
    const held = await holdUsers(t, databaseUrl);
    const answer = send('GET', `${url}/api/v1/users/me`, await headersOf(admin));
    answer.status.catch(() => {});
    await held.waiting(1);
    child.kill('SIGTERM');
    await until('it stops', () => /^Stopping\./m.test(child.out()));
    // What comes within 500 ms of the first is npm's copy of it, so the test says it again until it counts.
    const again = setInterval(() => child.kill('SIGTERM'), 100);
    const start = performance.now();
    const end = await child.ended;
    clearInterval(again);
    // A held lock alone lets go after 5 s.
    assert.ok(performance.now() - start < 4_000);
    assert.deepEqual(end, { code: 143, signal: null });
    await held.release();
    tally.tried();
    tally.injected(2);
    tally.held(2);
  });

  scenario('SIGHUP and SIGPIPE from a supervisor end nothing', async (tally, t) => {
    const { child, url, client } = await openProcess(t);
    const user = client();
    assert.equal((await user.login(ADMIN)).status, 200);
    for (let round = 0; round < rounds(5, 30); round += 1) {
      for (const signal of ['SIGHUP', 'SIGPIPE'] as const) {
        child.kill(signal);
        tally.injected();
        assert.equal((await user.get('/api/v1/users/me')).status, 200);
        assert.equal(await statusOf(`${url}/health/ready`), 200);
        tally.tried(2);
        tally.held(2);
      }
    }
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
  });

  scenario(
    'a service whose terminal or log reader is gone answers, mails and stops as ever, without spinning',
    async (tally, t) => {
      const { child, client, sql } = await openProcess(t, { LOG_LEVEL: 'debug' });
      const user = client();
      await user.get('/api/v1/auth/csrf-token');
      child.closeOutput();
      tally.injected(2);
      for (let number = 0; number < rounds(20, 200); number += 1) {
        const email = `epipe-${number}@example.com`;
        const body = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
        assert.equal((await user.post('/api/v1/auth/register', body)).status, 201);
        tally.tried();
        tally.held();
      }
      assert.equal((await user.login(ADMIN)).status, 200);
      await until('every mail is kept in the outbox folder', async () => {
        const waiting = await sql('select from outbox where sent_at is null');
        return waiting.length === 0;
      });
      child.kill('SIGTERM');
      assert.deepEqual(await child.ended, { code: 0, signal: null });
      tally.held(3);
    },
  );
});
