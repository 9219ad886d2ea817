// Seals new entries of the audit log, and those of earlier releases: one instance at a time, without a lock that a writer meets.
// It must not hash anything of an entry but what leaves.ts says.
import { canonicalJson } from '@castellan/contract/canonical-json';
import type { BeforeSealingSeal, ContinuesSeal, EntriesSeal } from '@castellan/contract/evidence';
import { inTransaction } from '../../platform/db/transaction.ts';
import { frontierRoot } from '../../platform/evidence/merkle-tree.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { type AuditLog, recordEvent } from '../audit/service.ts';
import {
  addMissing,
  endMissing,
  findLateEntries,
  findNewEntries,
  findPastEntries,
  saltPast,
  takeVoid,
} from './entries-store.ts';
import type { HeadsFile, KnownHead } from './heads/file.ts';
import { type AuditKey, AuditKeyLostError, addKey, findKey } from './heads/keys.ts';
import { type PublishingDeps, publishHead } from './heads/publishing.ts';
import { isSigned } from './heads/signed.ts';
import { openMembers, rootOfEntries, type StoredEntry } from './leaves.ts';
import {
  appendSeal,
  beginLog,
  DamagedLogError,
  listsIdOf,
  type NewSealContent,
  rootAt,
  signHead,
} from './log.ts';
import { FIRST_ID, findLog, type Head, keepLists, takeHead, writeHead } from './log-store.ts';
import { removeOldSeals } from './retention.ts';

export type SealerDeps = {
  db: Db;
  log: Logger;
  auditLog: AuditLog;
  secretKey: Buffer;
  settings: { publicUrl: string };
  headsFile: HeadsFile;
  tell: PublishingDeps['tell'];
  tellSink: PublishingDeps['tellSink'];
};

export type Sealer = {
  /** Seals what waits. Stops after a few seconds; the next call goes on. */
  run(): Promise<void>;
  /** Removes the entries of seals that are older than `days`, as `removeOldSeals` does. Returns how many. */
  removeOld(days: number): Promise<number>;
};

/** Entries of one seal at most: about 0.2 s of work. */
const MAX_ENTRIES = 4_096;
/** Transactions last 15 s at most, so none can still bring an entry. */
const VOID_SECONDS = 3_600;
/** Without entries, a seal says so often that there were none. */
const EMPTY_SECONDS = 3_600;
/** How long one run seals, and how long of it the entries of earlier releases: requests share the process with it. */
const RUN_MS = 5_000;
const PAST_MS = 2_000;
const lists = canonicalJson(openMembers);
const listsId = listsIdOf(lists);

type Fork = { reason: ContinuesSeal['reason']; known: KnownHead | null };
type Outcome = { head: Head | null; sealed: number; isDone: boolean; fork: ForkEvent | null };
type ForkEvent = { reason: ContinuesSeal['reason']; continued: string; size: number; knownSize: number };

export function createSealer(deps: SealerDeps): Sealer {
  const { db } = deps;
  /** Undefined until the file was read. */
  let known: KnownHead | null | undefined;

  /** Seals at most MAX_ENTRIES of one kind. Done: nothing is left of it, or another instance seals. */
  async function sealOnce(kind: 'new' | 'past'): Promise<Outcome> {
    known ??= await deps.headsFile.readLast();
    const outcome = await inTransaction(db, async (tx): Promise<Outcome> => {
      const taken = await takeHead(tx);
      if (!taken) return { head: null, sealed: 0, isDone: true, fork: null };
      const begun = await openLog(tx, deps, taken, known ?? null);
      const sealed = kind === 'new' ? await sealNew(tx, begun.head) : await sealPast(tx, begun.head);
      if (sealed.head.size === begun.head.size && !begun.isChanged) {
        // Also without a seal: there may be no more entries of earlier releases.
        if (sealed.head !== begun.head) await writeHead(tx, sealed.head, false);
        return { head: sealed.head, sealed: 0, isDone: true, fork: null };
      }
      const head = signHead(sealed.head, [begun.key]);
      await writeHead(tx, head, true);
      return { head, sealed: sealed.entries, isDone: sealed.entries < MAX_ENTRIES, fork: begun.fork };
    });
    const { head, fork } = outcome;
    if (head?.log && head.size > 0)
      known = { logId: head.log.id, origin: head.log.origin, size: head.size, root: frontierRoot(head) };
    if (fork) await recordFork(deps, head, fork);
    return outcome;
  }

  return {
    async run() {
      const start = performance.now();
      const isLeft = (ms: number): boolean => performance.now() - start < ms;
      let outcome = await sealOnce('new');
      while (!outcome.isDone && isLeft(RUN_MS)) outcome = await sealOnce('new');
      // While another instance seals, or one's own work is not done, the past waits.
      if (outcome.isDone && outcome.head && !outcome.head.isPastSealed) {
        outcome = await sealOnce('past');
        while (!outcome.isDone && isLeft(PAST_MS)) outcome = await sealOnce('past');
      }
      await publishHead(deps);
    },
    removeOld: (days) => removeOldSeals(deps, days),
  };
}

type Opened = { head: Head; key: AuditKey; fork: ForkEvent | null; isChanged: boolean };

/** Returns the log to append to: the current one, or a new one if the database's is not what this instance knows. */
async function openLog(tx: Tx, deps: SealerDeps, head: Head, known: KnownHead | null): Promise<Opened> {
  const { key, isLost } = await openKey(tx, deps);
  const fork: Fork | null = isLost ? { reason: 'key_lost', known } : await findFork(tx, { head, key }, known);
  if (!fork) {
    if (head.log) return { head, key, fork: null, isChanged: false };
    return {
      head: await beginLog(tx, head, deps.settings.publicUrl, null),
      key,
      fork: null,
      isChanged: false,
    };
  }
  const origin = head.log?.origin ?? fork.known?.origin;
  // Nothing is continued: a first start after a restore of a backup without a log.
  if (origin === undefined)
    return {
      head: await beginLog(tx, head, deps.settings.publicUrl, null),
      key,
      fork: null,
      isChanged: false,
    };
  const root = frontierRoot(head).toString('base64');
  const isOfKnown = fork.known !== null && fork.known.origin === origin;
  const knownSize = isOfKnown && fork.known ? Math.max(fork.known.size, head.size) : head.size;
  const knownRoot =
    isOfKnown && fork.known && fork.known.size >= head.size ? fork.known.root.toString('base64') : root;
  const continues: NewSealContent<ContinuesSeal> = {
    kind: 'continues',
    origin,
    size: head.size,
    root,
    known_size: knownSize,
    known_root: knownRoot,
    reason: fork.reason,
    at: new Date().toISOString(),
  };
  return {
    head: await beginLog(tx, head, deps.settings.publicUrl, continues),
    key,
    fork: { reason: fork.reason, continued: origin, size: head.size, knownSize },
    isChanged: true,
  };
}

async function openKey(tx: Tx, { secretKey, log }: SealerDeps): Promise<{ key: AuditKey; isLost: boolean }> {
  try {
    const found = await findKey(tx, secretKey);
    return { key: found ?? (await addKey(tx, secretKey)), isLost: false };
  } catch (error) {
    if (!(error instanceof AuditKeyLostError)) throw error;
    log.error({ err: error }, 'the audit log goes on in a new log with a new key');
    return { key: await addKey(tx, secretKey), isLost: true };
  }
}

/** Returns why the log of the database is no extension of the head that this instance knows; null if it is one. */
async function findFork(
  tx: Tx,
  { head, key }: { head: Head; key: AuditKey },
  known: KnownHead | null,
): Promise<Fork | null> {
  const other: Fork = { reason: 'other_history', known };
  // Somebody without the key has changed it. They could also have written that it was restored.
  if (!isSigned(head, key)) return other;
  if (head.isRestored) return { reason: 'restored', known };
  if (!known) return null;
  if (!head.log) return other;
  if (head.log.id !== known.logId) {
    // A log that continues the known one was begun by another instance, which has recorded it.
    const earlier = await findLog(tx, known.logId);
    return earlier && earlier.number < head.log.number ? null : other;
  }
  if (head.size < known.size) return other;
  const root =
    head.size === known.size
      ? frontierRoot(head)
      : await rootAt(tx, head.log.number, known.size).catch(damaged);
  return root?.equals(known.root) ? null : other;
}

function damaged(error: unknown): null {
  if (error instanceof DamagedLogError) return null;
  throw error;
}

async function recordFork(deps: SealerDeps, head: Head | null, fork: ForkEvent): Promise<void> {
  deps.log.error(
    {
      log: head?.log?.origin,
      continues: fork.continued,
      reason: fork.reason,
      size: fork.size,
      known_size: fork.knownSize,
    },
    'the audit log goes on in a new log: the database does not have what an instance had seen',
  );
  await recordEvent(deps, null, {
    action: 'audit_log_forked',
    actorId: null,
    resourceType: 'audit_log',
    resourceId: head?.log?.id ?? '',
    details: { reason: fork.reason, continues: fork.continued, size: fork.size, known_size: fork.knownSize },
  });
}

type Sealed = { head: Head; entries: number };

async function sealNew(tx: Tx, head: Head): Promise<Sealed> {
  const late = await findLateEntries(tx, MAX_ENTRIES);
  const fresh = await findNewEntries(tx, head.sealedPosition, MAX_ENTRIES - late.length);
  await endMissing(tx, late.map(positionOf));
  const gone = await takeVoid(tx, VOID_SECONDS);
  const entries = [...late, ...fresh];
  // Negative where the clock was ahead when the last seal was made.
  const isIdle = head.idleSeconds !== null && Math.abs(head.idleSeconds) < EMPTY_SECONDS;
  if (entries.length === 0 && gone.length === 0 && isIdle) return { head, entries: 0 };
  const last = fresh.at(-1);
  const missing = gapsOf(head.sealedPosition, fresh.map(positionOf));
  await addMissing(tx, missing);
  const range = last ? { from: head.sealedPosition + 1, to: positionOf(last) } : { from: null, to: null };
  const content: NewSealContent<EntriesSeal> = {
    kind: 'entries',
    partition: null,
    ...range,
    missing,
    late: late.map(positionOf),
    void: gone,
    count: entries.length,
    root: (await rootOfEntries(entries, openMembers)).toString('base64'),
    at: new Date().toISOString(),
  };
  await keepLists(tx, listsId, lists);
  const next = await appendSeal(tx, head, content, {
    fromPosition: range.from,
    toPosition: range.to,
    fromId: null,
    toId: null,
    late: content.late,
    listsId,
    entries: entries.length,
    lastEntryAt: newestOf(entries),
  });
  return {
    head: { ...next, sealedPosition: range.to ?? head.sealedPosition },
    entries: entries.length,
  };
}

async function sealPast(tx: Tx, head: Head): Promise<Sealed> {
  const after = head.sealedId ?? FIRST_ID;
  await saltPast(tx, after, MAX_ENTRIES);
  const entries = await findPastEntries(tx, after, MAX_ENTRIES);
  const [first, last] = [entries[0], entries.at(-1)];
  const isPastSealed = entries.length < MAX_ENTRIES;
  if (!first || !last) return { head: { ...head, isPastSealed }, entries: 0 };
  const content: NewSealContent<BeforeSealingSeal> = {
    kind: 'before_sealing',
    partition: null,
    from: first.id,
    to: last.id,
    missing: [],
    late: [],
    void: [],
    count: entries.length,
    root: (await rootOfEntries(entries, openMembers)).toString('base64'),
    at: new Date().toISOString(),
  };
  await keepLists(tx, listsId, lists);
  const next = await appendSeal(tx, head, content, {
    fromPosition: null,
    toPosition: null,
    fromId: first.id,
    toId: last.id,
    late: [],
    listsId,
    entries: entries.length,
    lastEntryAt: newestOf(entries),
  });
  return { head: { ...next, sealedId: last.id, isPastSealed }, entries: entries.length };
}

function positionOf({ id, position }: StoredEntry): number {
  if (position === null) throw new Error(`audit entry ${id} has no position`);
  return position;
}

/** Returns the ranges after `before` that none of the positions has. They are in order. */
function gapsOf(before: number, positions: readonly number[]): [number, number][] {
  const gaps: [number, number][] = [];
  let last = before;
  for (const position of positions) {
    if (position > last + 1) gaps.push([last + 1, position - 1]);
    last = position;
  }
  return gaps;
}

const newestOf = (entries: readonly StoredEntry[]): string | null =>
  entries.reduce<string | null>(
    (newest, { timestamp }) => (newest === null || timestamp > newest ? timestamp : newest),
    null,
  );
