// Writes security events, those that arrive together in one statement, on one connection at a time: an audit log that
// hangs must not take the connections of the requests. It must not judge an entry or swallow a failure.
import type { Db } from '../../database.ts';
import { isDatabaseUnavailable } from '../../platform/db/failures.ts';
import { insertEntries, type NewEntry } from './store.ts';

type Waiting = { entry: NewEntry; resolve: () => void; reject: (error: unknown) => void };
type Queue = { waiting: Waiting[]; writing: boolean };

// Far more than come in the time that a hanging statement is given; a longer queue would only fill the memory.
const MAX_WAITING = 1_000;
const queues = new WeakMap<Db, Queue>();

/** Resolves when the entry is committed; rejects when it cannot be written, or too many wait already. */
export function writeEntry(db: Db, entry: NewEntry): Promise<void> {
  const queue = queues.get(db) ?? { waiting: [], writing: false };
  queues.set(db, queue);
  if (queue.waiting.length >= MAX_WAITING)
    return Promise.reject(new Error(`${MAX_WAITING} audit entries wait already`));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  queue.waiting.push({ entry, resolve, reject });
  if (!queue.writing) void writeAll(db, queue);
  return promise;
}

async function writeAll(db: Db, queue: Queue): Promise<void> {
  queue.writing = true;
  while (queue.waiting.length > 0) await writeTogether(db, queue.waiting.splice(0));
  queue.writing = false;
}

/** Where one of them is refused, the others are written on their own. */
async function writeTogether(db: Db, batch: Waiting[]): Promise<void> {
  try {
    await insertEntries(
      db,
      batch.map(({ entry }) => entry),
    );
    for (const { resolve } of batch) resolve();
  } catch (error) {
    if (batch.length === 1 || isDatabaseUnavailable(error)) for (const { reject } of batch) reject(error);
    else for (const one of batch) await writeTogether(db, [one]);
  }
}
