// The machine's time zone does not change stored or answered times.
// It must not set the zone of the database server.
import assert from 'node:assert/strict';
import { createClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { openProcess } from '@castellan/testing/start/service-process';
import { assertTimes, auth, claimsOf, databaseSeconds, transactionNow } from './fixture.ts';

const scenario = scenariosOf('faults');

scenario('time zones change nothing that is stored or answered', async (tally, t) => {
  const zones = ['Pacific/Kiritimati', 'America/New_York', 'Asia/Kathmandu', 'Europe/Lisbon', 'Pacific/Niue'];
  const service = await openProcess(t, { ACCOUNT_LOCKOUT_ATTEMPTS: '1' });
  const since = await transactionNow(service);
  for (const TZ of zones.slice(0, rounds(2, zones.length))) {
    const { url } = await service.another({ TZ, PGTZ: TZ });
    tally.injected();
    const client = createClient(url);
    assert.equal((await client.login(ADMIN)).status, 200);
    const now = await databaseSeconds(service);
    assert.ok(Math.abs(claimsOf(client.accessToken as string).iat - now) < 60);
    const [session] = (await client.get(`${auth}/sessions`)).body.data;
    assert.ok(Math.abs(Date.parse(session.created_at) / 1_000 - now) < 60, session.created_at);
    const { body } = await client.get('/api/v1/audit-logs?size=1');
    assert.ok(Math.abs(Date.parse(body.data[0].timestamp) / 1_000 - now) < 60, body.data[0].timestamp);
    const [from, to] = [-60, 60].map((seconds) => new Date((now + seconds) * 1_000).toISOString());
    const count = async (filter: string): Promise<number> =>
      (await client.get(`/api/v1/audit-logs?${filter}`)).body.data.length;
    assert.ok((await count(`from=${from}&to=${to}`)) > 0);
    assert.equal(await count(`from=${to}`), 0);
    const user = { email: newEmail('zone'), password: PASSWORD };
    const names = { first_name: 'Ada', last_name: 'Love' };
    assert.equal((await client.post(`${auth}/register`, { ...user, ...names })).status, 201);
    assert.equal((await client.post(`${auth}/refresh`, { refresh_token: client.refreshToken })).status, 200);
    await createClient(url).login({ ...user, password: 'Wrong#Quartz82Lime' });
    tally.tried(8);
    tally.held(7 + (await assertTimes(service, since)));
  }
});
