// How long a first and a later start take, without and with Node's compile cache. A part of `npm run bench`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Goal, Row } from '../report/rows.ts';
import { createPlace } from '../service/place.ts';
import { startService } from '../service/service.ts';
import type { Run } from './suite.ts';

export async function measureStarts({ rounds }: Run): Promise<Row[]> {
  const times: Record<'firstCold' | 'firstWarm' | 'cold' | 'warm', number[]> = {
    firstCold: [],
    firstWarm: [],
    cold: [],
    warm: [],
  };
  const start = async (environment: Record<string, string>, cache: string, into: number[]): Promise<void> => {
    const service = await startService({ ...environment, NODE_COMPILE_CACHE: cache });
    into.push(service.startMs);
    await service.stop();
  };
  const caches = mkdtempSync(join(tmpdir(), 'castellan-bench-cache-'));
  const removeCaches = (): void => rmSync(caches, { recursive: true, force: true });
  // Removed also when the benchmark is interrupted.
  process.once('exit', removeCaches);
  for (let round = 0; round < rounds; round += 1) {
    const [full, empty] = [join(caches, `${round}-full`), join(caches, `${round}-empty`)];
    const places = [await createPlace(), await createPlace()] as const;
    try {
      await start(places[0].environment, full, times.firstCold);
      await start(places[1].environment, full, times.firstWarm);
      await start(places[0].environment, empty, times.cold);
      await start(places[0].environment, full, times.warm);
    } finally {
      for (const place of places) await place.remove();
    }
  }
  removeCaches();
  process.off('exit', removeCaches);
  const row = (name: string, condition: string, values: number[], goals: Goal[] = []): Row => ({
    part: 'start-up',
    name,
    condition: `until /health/ready, ${condition} compile cache`,
    unit: 'ms',
    values,
    goals,
  });
  return [
    // What really comes first finds no cache; a later start finds one.
    row('first start, nothing there', 'empty', times.firstCold, [{ figure: 'median', most: 1_500 }]),
    row('first start, nothing there', 'warm', times.firstWarm),
    row('later start', 'empty', times.cold),
    row('later start', 'warm', times.warm, [{ figure: 'median', most: 700 }]),
  ];
}
