// Memory of the service and its PostgreSQL, idle and after a minute of full load. A part of `npm run bench`.
import { setTimeout as pause } from 'node:timers/promises';
import { createAccounts, openSessions } from '../load/accounts.ts';
import { closedLoop } from '../load/raw-load.ts';
import type { Goal, Row } from '../report/rows.ts';
import { createPlace } from '../service/place.ts';
import { pssMebibytes } from '../service/processes.ts';
import { startService } from '../service/service.ts';
import { pinApart, type Run } from './suite.ts';

const part = 'memory';
const me = '/api/v1/users/me';
const CONNECTIONS = 64;
const LOAD_SECONDS = 60;
/** Several samples, because a collection may run during one. */
const SAMPLES = 5;

export async function measureMemory(_: Run): Promise<Row[]> {
  const place = await createPlace();
  try {
    const service = await startService({ ...place.environment, RATE_LIMIT_USER: 'off' });
    const sample = async (): Promise<{ service: number[]; all: number[] }> => {
      const found: { service: number[]; all: number[] } = { service: [], all: [] };
      for (let count = 0; count < SAMPLES; count += 1) {
        await pause(1_000);
        const own = pssMebibytes([service.pid]);
        found.service.push(own);
        found.all.push(own + pssMebibytes(await place.databasePids()));
      }
      return found;
    };
    const idle = await sample();
    await createAccounts(place);
    const callers = (await openSessions(service.url, me)).map(({ headers }) => headers ?? {});
    pinApart([service.pid], await place.databasePids());
    await closedLoop(service.url, me, callers, CONNECTIONS, LOAD_SECONDS);
    const loaded = await sample();
    const hasDatabase = (await place.databasePids()).length > 0;
    await service.stop();
    const row = (name: string, condition: string, values: number[], goals?: Goal[]): Row => ({
      part,
      name,
      condition,
      unit: 'MiB',
      values,
      goals: goals ?? [],
    });
    const after = `PSS, after ${LOAD_SECONDS} s, ${CONNECTIONS} connections`;
    return [
      row('service, idle', 'PSS', idle.service),
      row('service, loaded', after, loaded.service),
      ...(hasDatabase
        ? [
            row('service and PostgreSQL, idle', 'PSS', idle.all, [{ figure: 'median', most: 150 }]),
            row('service and PostgreSQL, loaded', after, loaded.all, [{ figure: 'median', most: 220 }]),
          ]
        : []),
    ];
  } finally {
    await place.remove();
  }
}
