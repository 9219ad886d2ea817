// The disk of the embedded database fills up while the service writes: acknowledged changes stay, no failed change is
// acknowledged, and writes succeed again when there is room. It must fill only its own small disk.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  killAll,
  query,
  root,
  smallDisk,
  temporaryFolder,
  until,
} from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { ADMIN } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Child, startChild, statusOf } from '@castellan/testing/start/child';

const scenario = scenariosOf('faults');
// A new cluster with its write-ahead log takes about 50 MB; the load has the rest.
const DISK_SIZE = '128m';
// The launcher pauses for up to half a minute before it retries, and recovery itself takes time.
const RECOVERY_MS = 90_000;

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-disk-'));
  const mounted = root && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder]).status === 0;
  if (mounted) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
  return mounted;
}

// Without the right to mount the scenario is skipped and counts nothing. In CI it must be possible.
const onSmallDisk: typeof scenario =
  process.env.CI || canMount()
    ? scenario
    : (name) => test(name, { skip: 'needs root and the right to mount' });

/** Fills the disk to its last page. */
function fill(file: string): void {
  const handle = openSync(file, 'a');
  try {
    for (const size of [1_048_576, 4_096])
      for (;;)
        try {
          if (writeSync(handle, Buffer.alloc(size, 1)) < size) break;
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'ENOSPC');
          break;
        }
  } finally {
    closeSync(handle);
  }
}

type Noted = { names: string[]; refused: number; sent: number; unexpected: string[] };

/** Creates roles until `isOver`. Notes those that were acknowledged. */
async function write(url: string, prefix: string, noted: Noted, isOver: () => boolean): Promise<void> {
  const client = createClient(url);
  await until('a sign-in', async () => (await client.login(ADMIN)).status === 200, RECOVERY_MS);
  for (let turn = 0; !isOver(); turn += 1) {
    const name = `${prefix}-${turn}`;
    noted.sent += 1;
    const answer = await client
      .post('/api/v1/roles', { name, description: 'x'.repeat(900) })
      .catch((error: unknown) => void noted.unexpected.push(String(error)));
    if (!answer) return;
    if (answer.status === 201) noted.names.push(name);
    else if (answer.status < 500) noted.unexpected.push(answer.text);
    else {
      noted.refused += 1;
      await pause(20);
    }
  }
}

async function assertThere(cluster: string, noted: Noted): Promise<number> {
  const host = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[4] ?? '';
  const rows = await query(
    { host, port: 5432, user: 'castellan', database: 'castellan', ssl: false },
    'select name from roles',
  );
  const there = new Set(rows.map(({ name }) => name));
  assert.deepEqual(
    noted.names.filter((name) => !there.has(name)),
    [],
    'roles that were acknowledged are lost',
  );
  return noted.names.length;
}

onSmallDisk(
  'a disk that fills up under writes loses no acknowledged change; with room again, the service continues and can restart',
  async (tally, t) => {
    const folder = temporaryFolder(t);
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    smallDisk(t, disk, DISK_SIZE);
    const dataDir = join(disk, 'data');
    const cluster = join(dataDir, 'postgres');
    const ballast = join(disk, 'ballast');
    const environment = {
      DATA_DIR: dataDir,
      FIRST_SUPERUSER_EMAIL: ADMIN.email,
      FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      CONCURRENT_SESSION_LIMIT: '0',
      LOG_LEVEL: 'debug',
    };
    let child: Child = startChild(t, environment);
    const url = await child.ready();
    const noted: Noted = { names: [], refused: 0, sent: 0, unexpected: [] };
    let over = false;
    const load = Promise.all(
      Array.from({ length: 16 }, (_, at) => write(url, `disk-${at}`, noted, () => over)),
    );
    for (let round = 0; round < rounds(1, 3); round += 1) {
      const enough = noted.names.length + 100;
      await until('enough is written', () => noted.names.length >= enough, RECOVERY_MS);
      fill(ballast);
      tally.injected();
      const refused = noted.refused + 32;
      // The open segment of the write-ahead log still has room, so the first writes succeed.
      await until(
        'the full disk is noticed',
        () => {
          fill(ballast);
          return noted.refused >= refused || child.out().includes('Castellan cannot');
        },
        RECOVERY_MS,
      );
      assert.equal(await statusOf(`${url}/health/live`), 200, `${child.out()}\n${child.err()}`);
      rmSync(ballast);
      const acknowledged = noted.names.length + 32;
      await until(
        'writes succeed again',
        () => noted.names.length >= acknowledged || !existsSync(cluster),
        RECOVERY_MS,
      );
      assert.equal(await statusOf(`${url}/health/ready`), 200);
    }
    over = true;
    await load;
    assert.deepEqual(noted.unexpected, []);
    tally.tried(noted.sent);
    tally.held(2 + (await assertThere(cluster, noted)));

    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    child = startChild(t, environment);
    const again = createClient(await child.ready());
    assert.equal((await again.login(ADMIN)).status, 200);
    tally.held(2 + (await assertThere(cluster, noted)));
    child.kill('SIGTERM');
    await child.ended;
    killAll(folder);
  },
);
