// Live guards of two instances under 50 writers: when the feed has told everything, what they keep is what the database says.
import { startTestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { lastFirst } from '../faults/database/fixture.ts';
import { caughtUp, compare, openGuards, useGuards } from './guards.ts';
import { makeWorld } from './rights.ts';

const scenario = scenariosOf('feed');

scenario(
  'live guards of two instances under 50 writers keep nothing that the database does not say',
  async (tally, t) => {
    const service = await startTestService(lastFirst(t), {
      CONCURRENT_SESSION_LIMIT: '0',
      DATABASE_POOL_SIZE: '6',
    });
    const twin = await service.another();
    const world = await makeWorld(service);
    const guards = await openGuards(t, [service.url, twin.url], world);
    for (let round = 0; round < rounds(4, 12); round += 1) {
      const stop = useGuards(t, guards, world);
      // Every change of what a role allows drops much; in the other rounds more is kept.
      tally.tried(await world.write(service.databaseUrl, round % 2 === 0));
      await caughtUp(service, guards);
      await stop();
      tally.held(await compare(service.url, guards, world, `round ${round}`));
    }
  },
);
