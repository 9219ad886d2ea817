/**
 * A real PostgreSQL for one test run: in a temporary folder, without fsync, gone with the process that started it,
 * however that ends. It must not hold data that anyone wants to keep.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/db/embedded.ts';

/** Lost with a crash of the machine, but not with a crash of the server: commits are handed to the system. */
export const throwawaySettings = { fsync: 'off', full_page_writes: 'off' };

/** Room for the pools of many test files at once. */
const manyConnections = { max_connections: '200' };

// Reads until the process that holds the other end is gone, then ends the server ($1) and removes its folder ($2).
const watchdog = `cat >/dev/null
file="$1/postmaster.pid"
test -f "$file" && kill -INT "$(head -n 1 "$file")"
for i in 1 2 3 4 5 6 7 8 9 10; do test -f "$file" && sleep 1; done
rm -rf "$2"`;

/** Takes 0.7 to 1.1 s. `stop()` also removes the data; `settings` go over throwawaySettings. */
export async function startThrowawayPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<EmbeddedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-throwaway-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const server = await startEmbeddedPostgres({
      dataDir: folder,
      settings: { ...throwawaySettings, ...manyConnections, ...settings },
    });
    const guard = spawn('/bin/sh', ['-c', watchdog, 'sh', server.cluster, folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    guard.unref();
    if (guard.stdin instanceof Socket) guard.stdin.unref();
    return {
      ...server,
      async stop() {
        await server.stop();
        remove();
        guard.stdin.end();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
