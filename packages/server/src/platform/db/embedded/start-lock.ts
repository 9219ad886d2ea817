/**
 * One process at a time starts the server of a DATA_DIR. Each contender puts a claim down whose name says who it is,
 * and holds the lock only if it then sees no other living claim. It must not outlive its owner: a dead one's claim
 * is removed by whoever finds it, which is safe because no name is ever used twice.
 */
import { closeSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { birthOf, isAlive, pidNamespace } from './processes.ts';

const prefix = 'postgres.starting-';

/** For a claim from another container, whose process ids mean nothing here: twice the usual longest start. */
const foreignClaimMs = 60_000;

let serial = 0;

/** Returns the release, or undefined when another one holds the lock or contends for it. */
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
      : Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < foreignClaimMs;
  if (!living) rmSync(path, { force: true });
  return !living;
}
