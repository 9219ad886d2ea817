/**
 * A lock, so that one process at a time starts the server of a DATA_DIR. Each process creates a claim, a file whose
 * name identifies the process, and has the lock only if no other live claim exists. It must not outlive its process:
 * any process removes the claims of dead ones, which is safe because no name is used twice.
 */
import { closeSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { birthOf, isAlive, pidNamespace } from './processes.ts';

const prefix = 'postgres.starting-';

/** Lifetime of a claim from another container, whose process ids are unknown here: twice the longest usual start. */
const FOREIGN_CLAIM_MS = 60_000;

let serial = 0;

/** Takes the lock. Returns its release; undefined if another process has the lock or tries to take it. */
export function tryStartLock(folder: string): (() => void) | undefined {
  if (othersIn(folder, '')) return undefined;
  serial += 1;
  const name = `${prefix}${pidNamespace()}-${process.pid}-${birthOf(process.pid)}-${serial}`;
  const release = (): void => rmSync(join(folder, name), { force: true });
  closeSync(openSync(join(folder, name), 'wx', 0o600));
  if (!othersIn(folder, name)) return release;
  release();
  return undefined;
}

function othersIn(folder: string, own: string): boolean {
  const claims = readdirSync(folder).filter((name) => name.startsWith(prefix) && name !== own);
  return claims.filter((name) => !removeIfDead(folder, name)).length > 0;
}

function removeIfDead(folder: string, name: string): boolean {
  const path = join(folder, name);
  const [namespace, pid, birth] = name.slice(prefix.length).split('-');
  const living =
    namespace === pidNamespace()
      ? isAlive(Number(pid)) && birthOf(Number(pid)) === birth
      : Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < FOREIGN_CLAIM_MS;
  if (!living) rmSync(path, { force: true });
  return !living;
}
