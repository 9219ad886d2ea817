// How requests of browsers in which nobody is signed in are counted: by address, and by what is kept of them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn } from '../fixture.ts';
import { ask } from './fixture.ts';

test('a large request of a stranger counts once for every 4 KiB, and one of a person once', async () => {
  const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: '8/minute' });
  const web = await addApplication(admin, [service]);
  const statuses = async (client: ReturnType<typeof service.client>): Promise<number[]> => {
    const large = { login_hint: 'x'.repeat(4_000), acr_values: 'x'.repeat(4_000) };
    const answers = [
      await ask(client, web, large),
      await ask(client, web, large),
      await ask(client, web, large),
    ];
    return answers.map(({ status }) => status);
  };
  assert.deepEqual(await statuses((await addSignedIn(service)).client), [303, 303, 303]);
  assert.deepEqual(await statuses(service.client()), [303, 303, 429]);
  const kept = await service.sql(`select from application_requests where kind = 'interaction'`);
  assert.equal(kept.length, 2);
});
