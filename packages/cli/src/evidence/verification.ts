// Verifies an export of the sealed audit log, line by line: docs/evidence.md says what is checked.
// It must not keep entries: it holds one seal's positions, and one hash for each power of two of the leaves.
import type { KeyObject } from 'node:crypto';
import type {
  BeforeSealingSeal,
  ContinuesSeal,
  EntriesSeal,
  EvidenceLine,
  RemovedSeal,
  SealedEntry,
} from '@castellan/contract/evidence';
import { hashOfSeal } from '@castellan/server/modules/evidence/leaves';
import { append, emptyFrontier, frontierRoot } from '@castellan/server/platform/evidence/merkle-tree';
import {
  type Checkpoint,
  NoteFormatError,
  type NoteVerifier,
  readCheckpoint,
  readNote,
  readVerifierKey,
  verifiedBy,
} from '@castellan/server/platform/evidence/signed-note';
import { type LineOf, leafOf, requireMembers, requireSealedPerson } from './lines.ts';
import {
  beginLog,
  idOf,
  type KeptHead,
  type LogState,
  noteRemoved,
  takeOpen,
  takePositions,
  takeRemoval,
} from './log-state.ts';
import { positionsOf } from './positions.ts';
import { AlteredError, noCounts, UnreadableError, type Verdict } from './verdict.ts';

/** Entries wait ten seconds for their seal. So much more means that nobody seals. */
const UNSEALED_MS = 60_000;

export class Verification {
  private readonly counts = noCounts();
  private readonly incomplete: string[] = [];
  private readonly logs: LogState[] = [];
  private leaves = emptyFrontier;
  private sealed: Pick<SealedEntry, 'id' | 'position'>[] = [];
  /** Unsealed entries without a position: of earlier releases, until the service has sealed them all. */
  private unplaced = 0;
  private oldestUnsealed: string | null = null;
  private newestUnsealed: string | null = null;
  private removedAfterDays: number | null = null;
  /** What signed the head of the last log, and any of the heads that were kept. */
  private signers: readonly NoteVerifier[] = [];
  private readonly keptSigners = new Set<NoteVerifier>();

  private readonly heads: readonly KeptHead[];
  private readonly keys: readonly NoteVerifier[];
  private readonly ownKeys: readonly KeyObject[] | null;

  /**
   * `keys`: those that the user trusts. If there is none, the keys that the export names; but what signs the head of a log must then be one of
   * `ownKeys`, unless that is null. It is null for an export, and not for the database as it is now.
   */
  constructor(
    heads: readonly KeptHead[],
    keys: readonly NoteVerifier[],
    ownKeys: readonly KeyObject[] | null = null,
  ) {
    this.heads = heads;
    this.keys = keys;
    this.ownKeys = ownKeys;
  }

  /** Checks the next line. Throws AlteredError, or UnreadableError if it is no line of an export. */
  read(line: EvidenceLine): void {
    requireMembers(line);
    if (line.line === 'log') {
      this.begin(line);
      return;
    }
    const log = this.logs.at(-1);
    if (!log || log.isEnded) throw new AlteredError(`a line "${line.line}" outside of a log`);
    if (line.line === 'entry') this.readEntry(log, line);
    else if (line.line === 'seal') this.readSeal(log, line);
    else if (line.line === 'unsealed') this.readUnsealed(log, line);
    else this.end(log, line.checkpoint);
  }

  /** Returns what was found after the last line. */
  finish(): Verdict {
    const last = this.logs.at(-1);
    if (!last) throw new UnreadableError('it has no log: export it with --evidence');
    if (!last.isEnded) throw new AlteredError('the export was cut off: it does not end with a head');
    const early = this.logs.find(({ removed }) => !removed.isEmpty);
    if (early) throw new AlteredError(`entries of ${early.origin} were removed, and no seal says so`);
    if (this.heads.length === 0)
      this.incomplete.push(
        'no head was given with --heads: an operator who rewrote the whole log would pass.',
      );
    for (const log of this.logs) {
      const { size } = log.tree;
      const seen = log.kept.reduce((most, kept) => Math.max(most, kept.size), Math.max(size, log.knownSize));
      this.counts.lost += seen - size;
      if (seen > size)
        this.incomplete.push(`the seals from ${size} to ${seen - 1} of ${log.origin} were lost.`);
    }
    const origins = new Set(this.logs.map(({ origin }) => origin));
    for (const origin of new Set(this.heads.map((head) => head.origin)))
      if (!origins.has(origin))
        this.incomplete.push(`heads of the log ${origin} were given, which is not in the export.`);
    if (this.keys.length === 0 && this.ownKeys === null && !this.isKeyKept())
      this.incomplete.push(
        `the head of ${last.origin} is signed by a key that signed none of the given heads: if you trust it, give it with --key.`,
      );
    if (this.unplaced > 0)
      this.incomplete.push(`${this.unplaced} entries without a position wait for their seal.`);
    // An export does not say when it was made: there, a later entry shows how long one has waited at least.
    const until = this.ownKeys === null ? Date.parse(this.newestUnsealed ?? '') : Date.now();
    if (until - Date.parse(this.oldestUnsealed ?? '') > UNSEALED_MS)
      this.incomplete.push('entries wait for their seal for more than a minute.');
    return { counts: this.counts, incomplete: this.incomplete, removedAfterDays: this.removedAfterDays };
  }

  /** Whether the key that signs now also signed a head that was kept, of whichever log; or none was. */
  private isKeyKept(): boolean {
    const kept = [...this.keptSigners].map(({ publicKey }) => publicKey);
    return (
      kept.length === 0 || this.signers.some(({ publicKey }) => kept.some((one) => one.equals(publicKey)))
    );
  }

  private begin({ origin, keys }: LineOf<'log'>): void {
    const before = this.logs.at(-1);
    if (before && !before.isEnded)
      throw new AlteredError(`the log ${before.origin} does not end with a head`);
    if (this.logs.some((log) => log.origin === origin))
      throw new AlteredError(`the log ${origin} is there twice`);
    this.counts.logs += 1;
    const kept = this.heads.filter((head) => head.origin === origin);
    const named = keys.map(readVerifierKey);
    // A log that continues another one has another name, under which the same key signs.
    const trusted = this.keys.map(({ publicKey }) => ({ name: origin, publicKey }));
    this.logs.push(beginLog({ origin, keys: trusted.length > 0 ? trusted : named, kept }, before));
  }

  private readEntry(log: LogState, entry: LineOf<'entry'>): void {
    if (typeof entry.seal !== 'number') throw new UnreadableError('the entry names no seal');
    if (entry.seal !== log.tree.size)
      throw new AlteredError(
        `entry ${entry.id} is of seal ${entry.seal}, and is before seal ${log.tree.size}`,
      );
    requireSealedPerson(entry);
    this.leaves = append(this.leaves, leafOf(entry)).frontier;
    this.sealed.push({ id: entry.id, position: entry.position });
    this.counts.entries += 1;
    if (entry.personal === null) this.counts.erased += 1;
  }

  private readUnsealed(log: LogState, entry: LineOf<'unsealed'>): void {
    requireSealedPerson(entry);
    const { timestamp, position, id } = entry;
    if (this.oldestUnsealed === null || timestamp < this.oldestUnsealed) this.oldestUnsealed = timestamp;
    if (this.newestUnsealed === null || timestamp > this.newestUnsealed) this.newestUnsealed = timestamp;
    if (position !== null && !takeOpen(log, position))
      throw new AlteredError(`entry ${id} was inserted at position ${position}, which is sealed without it`);
    if (position === null && id <= log.lastId)
      throw new AlteredError(
        `entry ${id} was inserted among those of earlier releases, which are sealed without it`,
      );
    this.counts.unsealed += 1;
    if (position === null) this.unplaced += 1;
  }

  private readSeal(log: LogState, { seal, is_removed }: LineOf<'seal'>): void {
    const where = `seal ${seal.number} of ${log.origin}`;
    if (seal.number !== log.tree.size)
      throw new AlteredError(`${where} is in the place of seal ${log.tree.size}`);
    if (seal.number === 0 && this.logs.length > 1 && seal.kind !== 'continues')
      throw new AlteredError(`${log.origin} does not continue the log that is before it`);
    if (seal.kind === 'entries' || seal.kind === 'before_sealing') {
      if (!is_removed) this.checkEntries(log, seal, where);
      else this.checkGone(log, seal, where);
      if (seal.kind === 'entries') this.counts.void += takePositions(log, seal, where);
    } else {
      if (this.sealed.length > 0) throw new AlteredError(`${where} has entries, which its kind never has`);
      if (seal.kind === 'removed') this.checkRemoval(seal, where);
      else if (seal.kind === 'continues') this.checkContinuation(log, seal);
      else if (seal.kind !== 'key')
        throw new UnreadableError(`${where} is of a kind that this release does not know`);
    }
    log.tree = append(log.tree, hashOfSeal(seal)).frontier;
    if (log.roots.has(log.tree.size)) log.roots.set(log.tree.size, frontierRoot(log.tree));
    this.counts.seals += 1;
    this.leaves = emptyFrontier;
    this.sealed = [];
  }

  private checkEntries(log: LogState, seal: EntriesSeal | BeforeSealingSeal, where: string): void {
    if (seal.count !== this.sealed.length)
      throw new AlteredError(
        `${where} has ${seal.count} entries, and ${this.sealed.length} are there${this.firstGap(seal)}`,
      );
    if (frontierRoot(this.leaves).toString('base64') !== seal.root)
      throw new AlteredError(`an entry of ${where} was changed, between ${seal.from} and ${seal.to}`);
    if (seal.kind === 'before_sealing') {
      const ids = this.sealed.map(({ id }) => id);
      const isInOrder = ids.every((id, index) => id > (ids[index - 1] ?? log.lastId));
      if (!isInOrder || ids[0] !== seal.from || ids.at(-1) !== seal.to)
        throw new AlteredError(`the entries of ${where} are not those of its range of ids`);
      log.lastId = seal.to;
    } else if (this.firstGap(seal) !== '') {
      throw new AlteredError(
        `the entries of ${where} are not at the positions that it names${this.firstGap(seal)}`,
      );
    }
  }

  /** Says where the entries begin to differ from the positions of the seal. */
  private firstGap(seal: EntriesSeal | BeforeSealingSeal): string {
    if (seal.kind === 'before_sealing') return '';
    let count = 0;
    for (const position of positionsOf(seal)) {
      if (this.sealed[count]?.position !== position)
        return `: the entry at position ${position} is missing or moved`;
      count += 1;
    }
    const extra = this.sealed[count];
    return extra ? `: entry ${extra.id} at position ${extra.position} was inserted` : '';
  }

  private checkGone(log: LogState, seal: EntriesSeal | BeforeSealingSeal, where: string): void {
    if (this.sealed.length > 0) throw new AlteredError(`${where} was removed, and has entries`);
    noteRemoved(log, seal);
    this.counts.removed += seal.count;
  }

  private checkRemoval(seal: RemovedSeal, where: string): void {
    const log = this.logs.find((one) => idOf(one) === seal.log);
    if (!log) throw new AlteredError(`${where} is about the log ${seal.log}, which is not in the export`);
    const days = takeRemoval(log, seal);
    if (days !== null) this.removedAfterDays = Math.min(this.removedAfterDays ?? days, days);
  }

  private checkContinuation(log: LogState, seal: ContinuesSeal): void {
    const before = this.logs.at(-2);
    if (before?.origin !== seal.origin)
      throw new AlteredError(
        `the export was cut off: the log ${seal.origin}, which ${log.origin} continues, is not before it`,
      );
    if (before.tree.size !== seal.size || frontierRoot(before.tree).toString('base64') !== seal.root)
      throw new AlteredError(`${log.origin} continues another log ${seal.origin} than that of the export`);
    before.knownSize = seal.known_size;
    // Anyone who can write the database can damage the key, after they have written other seals.
    if (seal.reason === 'key_lost' && !before.kept.some(({ size }) => size >= seal.size))
      this.incomplete.push(
        `${seal.origin} ended because SECRET_KEY did not open its key, and no kept head covers all of its ${seal.size} seals.`,
      );
    if (seal.reason === 'other_history')
      this.incomplete.push(
        `${log.origin} continues ${seal.origin}, of which an instance had seen other seals than the database has.`,
      );
  }

  private end(log: LogState, note: string): void {
    const where = `the head of ${log.origin}`;
    if (this.sealed.length > 0) throw new AlteredError('the export was cut off: entries without their seal');
    const own = this.keys.length > 0 ? null : this.ownKeys;
    const keys = own?.map((publicKey) => ({ name: log.origin, publicKey })) ?? log.keys;
    const { head, signers } = readHead(note, keys, where);
    const root = frontierRoot(log.tree);
    if (head.origin !== log.origin || head.size !== log.tree.size || !head.root.equals(root))
      throw new AlteredError(`${where} is not that of its ${log.tree.size} seals: a seal was rewritten`);
    // Several files may have the same head.
    for (const kept of new Map(log.kept.map((one) => [one.note, one])).values()) {
      const of = `a kept head of ${log.origin} with ${kept.size} seals`;
      for (const signer of readHead(kept.note, log.keys, of).signers) this.keptSigners.add(signer);
    }
    for (const kept of log.kept)
      if (kept.size <= log.tree.size && log.roots.get(kept.size)?.equals(kept.root) !== true)
        throw new AlteredError(
          `the first ${kept.size} seals of ${log.origin} are not those of a kept head: they were rewritten`,
        );
    this.signers = signers;
    log.isEnded = true;
  }
}

/** `keys`: who may have signed it. */
function readHead(
  note: string,
  keys: readonly NoteVerifier[],
  where: string,
): { head: Checkpoint; signers: readonly NoteVerifier[] } {
  try {
    const read = readNote(note);
    const signers = verifiedBy(read, keys);
    if (signers.length === 0) throw new AlteredError(`${where} has no signature of a key that is trusted`);
    return { head: readCheckpoint(read.text), signers };
  } catch (error) {
    if (error instanceof NoteFormatError) throw new AlteredError(`${where}: ${error.message}`);
    throw error;
  }
}
