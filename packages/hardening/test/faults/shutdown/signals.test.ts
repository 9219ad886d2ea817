// Other signals and a lost terminal: only a second SIGTERM ends the service sooner, and other signals do not end it.
// It must send signals only to processes that it started.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { until } from '@castellan/embedded-postgres/testing';
import { ADMIN, PASSWORD } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { statusOf } from '@castellan/testing/start/child';
import { headersOf, openProcess, send } from '@castellan/testing/start/service-process';
import { holdUsers } from './fixture.ts';

const scenario = scenariosOf('faults');

suite('signals', { concurrency: 4 }, () => {
  scenario('a second SIGTERM ends a shutdown at once', async (tally, t) => {
    const { child, url, databaseUrl, client } = await openProcess(t);
    const admin = client();
    await admin.login(ADMIN);
    const held = await holdUsers(t, databaseUrl);
    const answer = send('GET', `${url}/api/v1/users/me`, await headersOf(admin));
    answer.status.catch(() => {});
    await held.waiting(1);
    child.kill('SIGTERM');
    await until('it stops', () => child.announced('stopping') !== undefined);
    // The service ignores a second signal within 500 ms, which npm sends as a copy, so the test repeats it until it
    // counts.
    const again = setInterval(() => child.kill('SIGTERM'), 100);
    // Status 0 would mean that the request had ended first, by its lock timeout.
    assert.deepEqual(await child.ended, { code: 143, signal: null });
    clearInterval(again);
    await held.release();
    tally.tried();
    tally.injected(2);
    tally.held(2);
  });

  scenario('SIGHUP and SIGPIPE from a supervisor do not end the service', async (tally, t) => {
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
    'a service whose terminal or log reader is gone answers, sends mails and stops as usual, without a busy loop',
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
