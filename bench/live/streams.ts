// Measures what the feed costs an instance: the polls of one that has a reader while nothing changes, the beats and the memory of up to
// 2,000 streams, and telling a change to all of them, with the time from its commit until each has it.
// `node bench/live/streams.ts`, about three minutes. Runs on an embedded PostgreSQL, as Linux tells its processor time. Loopback only.
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createServiceKey } from '../load/accounts.ts';
import { format, markdown, median, percentile } from '../report/table.ts';
import { createPlace, databaseKind } from '../service/place.ts';
import { cpuMicroseconds, pssMebibytes } from '../service/processes.ts';
import { startService } from '../service/service.ts';

const SECONDS = Number(process.env.BENCH_SECONDS || 20);
const STEPS = [0, 1, 10, 1_000, 2_000];
const CHANGES = 100;
/** So that each change is told alone. */
const CHANGE_EVERY_MS = 150;
const SETTLE_MS = 3_000;

const place = await createPlace();
const service = await startService({ ...place.environment, FEED_STREAMS_PER_CALLER: '2000' });
const key = await createServiceKey(place);
const database = new pg.Client(await place.connection());
await database.connect();
const readers = fork(fileURLToPath(new URL('readers.ts', import.meta.url)), {
  env: { PATH: process.env.PATH, CASTELLAN_URL: service.url, CASTELLAN_API_KEY: key },
});
process.once('exit', () => readers.kill('SIGKILL'));

async function answerOf(message: object): Promise<{ arrivedAt?: number[][] }> {
  readers.send(message);
  const [answer] = await once(readers, 'message');
  return answer;
}

/** Returns the share of a core that the service and PostgreSQL take while the work is done, in percent. */
async function shareWhile(
  work: () => Promise<unknown>,
): Promise<{ service: number; database: number; ms: number }> {
  const pids = await place.databasePids();
  const before = [cpuMicroseconds([service.pid]), cpuMicroseconds(pids)] as const;
  const begin = performance.now();
  await work();
  const ms = performance.now() - begin;
  const share = (from: number, to: number): number => (to - from) / 10 / ms;
  return {
    service: share(before[0], cpuMicroseconds([service.pid])),
    database: share(before[1], cpuMicroseconds(pids)),
    ms,
  };
}

/** Commits changes one by one. Returns how long each took to arrive at each stream, in ms, from when its commit was answered. */
async function change(): Promise<number[]> {
  const committed: { id: string; at: number }[] = [];
  for (let count = 0; count < CHANGES; count += 1) {
    const id = randomUUID();
    await database.query("insert into feed_queue (type, ref) values ('user', $1)", [id]);
    committed.push({ id, at: Date.now() });
    await pause(CHANGE_EVERY_MS * (0.5 + Math.random()));
  }
  const { arrivedAt = [] } = await answerOf({ changes: committed.map(({ id }) => id) });
  return arrivedAt.flatMap((times, index) =>
    times.map((time) => Math.max(0, time - (committed[index]?.at ?? 0))),
  );
}

const rows: string[][] = [];
let open = 0;
let emptyMebibytes = 0;
for (const streams of STEPS) {
  if (streams > open) await answerOf({ open: streams - open });
  open = streams;
  await pause(SETTLE_MS);
  const quiet = await shareWhile(() => pause(SECONDS * 1_000));
  const mebibytes = pssMebibytes([service.pid]);
  if (streams <= 10) emptyMebibytes = mebibytes;
  let times: number[] = [];
  const busy =
    streams === 0
      ? undefined
      : await shareWhile(async () => {
          times = await change();
        });
  // Of the service, for each stream that each change is told to.
  const each = busy && ((busy.service - quiet.service) * busy.ms * 10) / (CHANGES * streams);
  const shown = (value: number | undefined): string => (value === undefined ? '' : format(value));
  rows.push([
    format(streams),
    format(quiet.service),
    format(quiet.database),
    streams > 10 ? format(((mebibytes - emptyMebibytes) * 1_024) / streams) : '',
    shown(streams > 10 ? each : undefined),
    ...(busy
      ? [
          format(median(times)),
          format(percentile(times, 0.99)),
          format(times.reduce((a, b) => Math.max(a, b), 0)),
        ]
      : ['', '', '']),
  ]);
}
readers.kill('SIGKILL');
await database.end();
await service.stop();
await place.remove();
process.stdout.write(
  `Node ${process.versions.node}, ${databaseKind}. ${SECONDS} s in which nothing changes, then ${CHANGES} changes, one each ${CHANGE_EVERY_MS} ms.\n\n${markdown(
    [
      'Streams',
      'service while nothing changes, % of a core',
      'PostgreSQL, % of a core',
      'KiB for each stream',
      'CPU for each stream and change, µs',
      'p50, ms',
      'p99, ms',
      'longest, ms',
    ],
    rows,
  )}\n`,
);
process.exit(0);
