// The audit log with its evidence, as an export: every log, seal by seal. It must not hold more than a few batches in memory.
import type { EvidenceLine, Seal } from '@castellan/contract/evidence';
import { AppError } from '../../platform/errors.ts';
import type { ExportSource } from '../../platform/http/answers/export.ts';
import type { Db } from '../../schema/database.ts';
import { findEntriesIn, findNewEntries, findPastEntries, findPastWithin } from './entries-store.ts';
import { listVerifierKeys } from './heads/keys.ts';
import { createHoles, type Holes } from './holes.ts';
import { entryLeaf, type Leaf, type OpenMembers, openMembers, type StoredEntry } from './leaves.ts';
import { DamagedLogError } from './log.ts';
import {
  FIRST_ID,
  findLogAfter,
  findRemoval,
  type Head,
  type Log,
  listSeals,
  readHead,
  type StoredSeal,
} from './log-store.ts';
import { entriesOf, headAt, listsOf, type ProofDeps } from './proofs.ts';

/** Gives a batch its database. */
type Run = <T>(read: (db: Db) => Promise<T>) => Promise<T>;

/** Lines of one batch: building their text takes a few milliseconds. */
const BATCH = 200;
const SEALS = 100;
/** How often the seals are read that were made in the meantime. Each time takes a part of the time before, unless the reader is too slow. */
const ROUNDS = 8;
/** Ranges of positions that one statement looks at. */
const RANGES = 1_000;

/** Returns the lines for an export. Its first batch throws `not_sealed` if nothing was ever sealed. */
export function evidenceToExport(deps: ProofDeps, run: Run): ExportSource<EvidenceLine> {
  const lines = evidenceLines(deps, run);
  return {
    batch: BATCH,
    // The place in the log is that of the generator: batches are read one after the other.
    async read() {
      const batch: EvidenceLine[] = [];
      while (batch.length < BATCH) {
        const { value, done } = await lines.next();
        if (done) break;
        batch.push(value);
      }
      return batch;
    },
  };
}

/** Yields the log with its evidence. `run` gives each batch its database. */
export async function* evidenceLines(deps: ProofDeps, run: Run): AsyncGenerator<EvidenceLine, void> {
  // Before the seals are read, so that no entry is sealed in between and left out.
  let end = await run((db) => readHead(db));
  const holes = createHoles();
  let log: Log | null = await run((db) => findLogAfter(db, 0));
  if (!log) throw new AppError('not_sealed');
  while (log) {
    const { number, id, origin }: Log = log;
    const keys = await run((db) => listVerifierKeys(db, origin));
    yield { line: 'log', origin, keys };
    for (let [after, round] = [-1, 0]; ; round += 1) {
      // A seal was removed since the head was read: only a later head has the seal that says so.
      let isOutdated = false;
      for await (const stored of sealsOf(run, number, after, number === end.log?.number ? end.size : null)) {
        const read = await run((db) => readSeal(db, stored));
        yield* linesOf(read);
        holes.note(read.seal, read.removedBy !== null);
        after = stored.number;
        if (read.removedBy !== null && read.removedBy >= end.size) isOutdated = true;
      }
      // Reading a long log takes minutes. The seals that were made by then come too: their entries do not wait for one.
      if (!isOutdated && (number !== end.log?.number || round === ROUNDS)) break;
      const newer: Head = await run((db) => readHead(db));
      const isGrown = newer.log?.number === end.log?.number && newer.size > end.size;
      // A head that another key signs would need that key in the line above.
      if (!isOutdated && !(isGrown && (await hasKeys(run, origin, keys)))) break;
      end = newer;
    }
    const isLast: boolean = number === end.log?.number;
    if (isLast) {
      yield* strayLines(run, holes);
      yield* unsealedLines(run, holes);
    }
    yield { line: 'head', checkpoint: isLast ? (end.checkpoint ?? '') : await endOf(deps, id) };
    log = isLast ? null : await run((db) => findLogAfter(db, number));
  }
}

const hasKeys = async (run: Run, origin: string, keys: readonly string[]): Promise<boolean> =>
  (await run((db) => listVerifierKeys(db, origin))).every((key) => keys.includes(key));

/** Returns the signed head of a log that was continued. Empty, which no verifier accepts, if the database lacks what was signed. */
const endOf = (deps: ProofDeps, id: string): Promise<string> =>
  headAt(deps, { log: id }).catch((error: unknown) => {
    if (error instanceof DamagedLogError || (error instanceof AppError && error.code === 'not_sealed'))
      return '';
    throw error;
  });

/** Yields the seals of a log above a number; `size` null: all that it has. */
async function* sealsOf(
  run: Run,
  log: number,
  after: number,
  size: number | null,
): AsyncGenerator<StoredSeal, void> {
  for (let last = after; ; ) {
    const seals = await run((db) => listSeals(db, log, last, SEALS));
    for (const seal of seals) {
      if (size !== null && seal.number >= size) return;
      yield seal;
      last = seal.number;
    }
    if (seals.length < SEALS) return;
  }
}

/** A seal with its entries. `removedBy`: the number of the seal that says that they were removed. */
type ReadSeal = { seal: Seal; entries: StoredEntry[]; lists: OpenMembers; removedBy: number | null };

async function readSeal(db: Db, stored: StoredSeal): Promise<ReadSeal> {
  const seal: Seal = JSON.parse(stored.content);
  let removedBy = stored.removed_by;
  let entries = removedBy === null ? await entriesOf(db, stored) : [];
  if ('count' in seal && removedBy === null && entries.length < seal.count) {
    // They may have been removed since the seal was read.
    removedBy = await findRemoval(db, stored);
    if (removedBy !== null) entries = [];
  }
  const lists = entries.length === 0 ? openMembers : await listsOf(db, stored);
  return { seal, entries, lists, removedBy };
}

/** Yields the lines one by one: all of a large seal at once would take several times the memory of its entries. */
function* linesOf({ seal, entries, lists, removedBy }: ReadSeal): Generator<EvidenceLine, void> {
  for (const entry of entries) {
    const { leaf, personal, salt } = evidenceOf(entry, lists);
    yield { line: 'entry', seal: seal.number, ...leaf, personal, salt };
  }
  yield { line: 'seal', seal, is_removed: removedBy !== null };
}

/** Entries where seals have passed: late ones, which the next seal takes, and such as were inserted. */
async function* strayLines(run: Run, holes: Holes): AsyncGenerator<EvidenceLine, void> {
  const all = holes.positions();
  for (let at = 0; at < all.length; at += RANGES) {
    const ranges = all.slice(at, at + RANGES);
    yield* (await run((db) => findEntriesIn(db, ranges))).map(unsealedLine);
  }
  const ids = holes.ids();
  for (let at = 0; at < ids.length; at += RANGES) {
    const ranges = ids.slice(at, at + RANGES);
    yield* (await run((db) => findPastWithin(db, ranges))).map(unsealedLine);
  }
}

/** Also entries without a position that came after the last of them was sealed: no release that seals writes such entries. */
async function* unsealedLines(run: Run, { last }: Holes): AsyncGenerator<EvidenceLine, void> {
  for (let after: string | null = last.id; after !== null; ) {
    const from: string = after;
    const entries: StoredEntry[] = await run((db) => findPastEntries(db, from, BATCH));
    yield* entries.map(unsealedLine);
    after = entries.length === BATCH ? (entries.at(-1)?.id ?? null) : null;
  }
  for (let after: number | null = last.position; after !== null; ) {
    const from: number = after;
    const entries: StoredEntry[] = await run((db) => findNewEntries(db, from, BATCH));
    yield* entries.map(unsealedLine);
    after = entries.length === BATCH ? (entries.at(-1)?.position ?? null) : null;
  }
}

function unsealedLine(entry: StoredEntry): EvidenceLine {
  const { leaf, personal, salt } = evidenceOf(entry, openMembers);
  return { line: 'unsealed', ...leaf, personal, salt };
}

/** An entry of an earlier release gets its salt with its seal: until then it has none. Of a sealed one, somebody has removed it. */
function evidenceOf(entry: StoredEntry, lists: OpenMembers): Leaf & { salt: string | null } {
  const isUnsalted = entry.salt === null && entry.personal_hash === null;
  const salt = isUnsalted ? UNSALTED : entry.salt;
  return { ...entryLeaf({ ...entry, salt }, lists), salt };
}

const UNSALTED = FIRST_ID;
