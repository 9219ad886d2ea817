// Writes security events, those that arrive together in one statement, on one connection at a time: an audit log that
// hangs must not take the connections of the requests. It must not judge an entry or swallow a failure.
import type { Db } from '../../database.ts';
import { isConnectionLost, isDatabaseUnavailable } from '../../platform/db/failures.ts';
import { insertEntries, type NewEntry } from './store.ts';

type Waiting = { entry: NewEntry; resolve: () => void; reject: (error: unknown) => void };
/** Refusals that anybody can provoke, and everything else: no number of the former takes the place of the latter. */
type Lane = 'acts' | 'refusals';
type Queue = Record<Lane, Waiting[]> & { writing: boolean };

// Far more than come in the time that a hanging statement is given (10 s), about a kilobyte each: a longer queue would
// only fill the memory. Logins, the most frequent of the acts, are bounded by their hashing to some hundreds a second.
const MAX_WAITING: Readonly<Record<Lane, number>> = { acts: 10_000, refusals: 1_000 };
// Entries of one statement: about a megabyte.
const BATCH = 1_000;
const queues = new WeakMap<Db, Queue>();

/** Resolves when the entry is committed; rejects when it cannot be written, or too many of its kind wait already. */
export function writeEntry(db: Db, entry: NewEntry, lane: Lane): Promise<void> {
  const queue = queues.get(db) ?? { acts: [], refusals: [], writing: false };
  queues.set(db, queue);
  if (queue[lane].length >= MAX_WAITING[lane])
    return Promise.reject(new Error(`${MAX_WAITING[lane]} audit entries (${lane}) wait already`));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  queue[lane].push({ entry, resolve, reject });
  if (!queue.writing) void writeAll(db, queue);
  return promise;
}

async function writeAll(db: Db, queue: Queue): Promise<void> {
  queue.writing = true;
  for (let batch = next(queue); batch.length > 0; batch = next(queue)) await writeTogether(db, batch);
  queue.writing = false;
}

function next({ acts, refusals }: Queue): Waiting[] {
  const batch = acts.splice(0, BATCH);
  return [...batch, ...refusals.splice(0, BATCH - batch.length)];
}

/** Where one of them is refused, the others are written on their own. */
async function writeTogether(db: Db, batch: Waiting[]): Promise<void> {
  try {
    await insertOnce(
      db,
      batch.map(({ entry }) => entry),
    );
    for (const { resolve } of batch) resolve();
  } catch (error) {
    if (batch.length === 1 || isDatabaseUnavailable(error)) for (const { reject } of batch) reject(error);
    else for (const one of batch) await writeTogether(db, [one]);
  }
}

/** A connection that ends under the statement takes no entry with it: they are sent once more, and stand there once. */
async function insertOnce(db: Db, entries: readonly NewEntry[]): Promise<void> {
  try {
    await insertEntries(db, entries);
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    await insertEntries(db, entries);
  }
}
