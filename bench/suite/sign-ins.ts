// Sign-ins against the hash function alone, on the same core. A part of `npm run bench`.

import { argon2Concurrency, measureArgon2 } from '../comparison/argon2-rate.ts';
import { startBetterAuth } from '../comparison/better-auth.ts';
import { accountCount, createAccounts, load, loginRequests } from '../load/accounts.ts';
import type { Row } from '../report/rows.ts';
import { median } from '../report/table.ts';
import { createPlace } from '../service/place.ts';
import { cpuMicroseconds } from '../service/processes.ts';
import { startService } from '../service/service.ts';
import { onServedCore, pinApart, type Run } from './suite.ts';

const part = 'sign-ins';
/** More than the hasher computes at once, so that its queue is never empty. */
const CONNECTIONS = 16;

export async function measureSignIns({ rounds, seconds, withBetterAuth }: Run): Promise<Row[]> {
  const place = await createPlace();
  try {
    const service = await startService(place.environment);
    await createAccounts(place);
    const other = withBetterAuth ? await startBetterAuth(await place.connection()) : undefined;
    const requests = await loginRequests(service.url);
    pinApart([service.pid, ...(other ? [other.pid] : [])], await place.databasePids());
    const found: Record<'bare' | 'ours' | 'cpu' | 'theirs' | 'theirCpu', number[]> = {
      bare: [],
      ours: [],
      cpu: [],
      theirs: [],
      theirCpu: [],
    };
    const run = async (
      server: { pid: number; url: string },
      signIns: typeof requests,
      rates: number[],
      cpu: number[],
    ) => {
      const before = cpuMicroseconds([server.pid]);
      const result = await load(server.url, signIns, CONNECTIONS, seconds);
      cpu.push((cpuMicroseconds([server.pid]) - before) / result['2xx']);
      rates.push(result['2xx'] / result.duration);
    };
    await load(service.url, requests, CONNECTIONS, 1);
    for (let round = 0; round < rounds; round += 1) {
      found.bare.push(await onServedCore(() => measureArgon2(seconds)));
      await run(service, requests, found.ours, found.cpu);
      if (other) await run(other, other.signIns, found.theirs, found.theirCpu);
    }
    const ratio = (values: number[]): number =>
      median(values.map((value, round) => value / (found.bare[round] ?? Number.NaN)));
    const what = 'argon2 alone';
    const rows: Row[] = [
      {
        part,
        name: what,
        condition: `${argon2Concurrency} at once`,
        unit: '/s',
        values: found.bare,
        of: { what, ratio: 1 },
      },
      {
        part,
        name: 'POST /auth/login, throughput',
        condition: `${CONNECTIONS} connections, ${accountCount} accounts`,
        unit: '/s',
        values: found.ours,
        of: { what, ratio: ratio(found.ours) },
        cpu: median(found.cpu),
        goals: [{ figure: 'ratio', least: 0.92 }],
      },
    ];
    if (other)
      rows.push({
        part,
        name: `better-auth ${other.version} sign-in, throughput`,
        condition: `${CONNECTIONS} connections, scrypt as it comes`,
        unit: '/s',
        values: found.theirs,
        of: { what, ratio: ratio(found.theirs) },
        cpu: median(found.theirCpu),
      });
    await other?.stop();
    await service.stop();
    return rows;
  } finally {
    await place.remove();
  }
}
