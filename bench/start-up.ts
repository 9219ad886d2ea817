// Measures how long a first and a later start take, without and with Node's compile cache.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPlace } from './place.ts';
import { startService } from './service.ts';
import { markdown, summary } from './table.ts';

export async function measureStarts(rounds: number): Promise<string> {
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
  // Removed also when the benchmark is interrupted.
  process.once('exit', () => rmSync(caches, { recursive: true, force: true }));
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
  return markdown(
    ['Start, ms until /health/ready', 'empty compile cache', 'warm compile cache'],
    [
      ['first start, nothing there', summary(times.firstCold), summary(times.firstWarm)],
      ['later start', summary(times.cold), summary(times.warm)],
    ],
  );
}
