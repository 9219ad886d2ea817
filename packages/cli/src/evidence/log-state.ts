// What is known of one log while its lines are read, with the rules for its positions and its removed entries.
// It must not hash, and must not know entries.
import type { BeforeSealingSeal, EntriesSeal, RemovedSeal } from '@castellan/contract/evidence';
import { emptyFrontier, type Frontier } from '@castellan/server/platform/evidence/merkle-tree';
import type { Checkpoint, NoteVerifier } from '@castellan/server/platform/evidence/signed-note';
import { Ranges } from './positions.ts';
import { AlteredError } from './verdict.ts';

/** A head that somebody kept, with its note. */
export type KeptHead = Checkpoint & { note: string };

/** A position is void after an hour; the clocks of instances may differ. No transaction brings its entry so late. */
const OPEN_MS = 7_200_000;

export type LogState = {
  origin: string;
  /** Who may have signed its heads. */
  keys: readonly NoteVerifier[];
  tree: Frontier;
  isEnded: boolean;
  /** How many seals an instance had seen, where a later log says so. */
  knownSize: number;
  kept: readonly KeptHead[];
  /** The roots that the log had at the sizes of the kept heads; null for one that it has not had yet. */
  roots: Map<number, Buffer | null>;
  /** The last sealed position, and the last sealed id of an entry without one. */
  lastPosition: number;
  lastId: string;
  missing: Ranges;
  /** The last positions and times of the seals of the last OPEN_MS, and the last position of those before. */
  recent: { to: number; at: number }[];
  closedTo: number;
  /** Seals whose entries are gone, and that no `removed` seal has named yet. */
  removed: Ranges;
  /** The days of all seals whose entries are gone: one element for those in a row that have the same one. */
  removedDays: { from: number; day: number }[];
};

/** `before`: the log that it continues. */
export const beginLog = (
  { origin, keys, kept }: Pick<LogState, 'origin' | 'keys' | 'kept'>,
  before: LogState | undefined,
): LogState => ({
  origin,
  keys,
  tree: emptyFrontier,
  isEnded: false,
  knownSize: 0,
  kept,
  roots: new Map(kept.map(({ size }) => [size, null])),
  lastPosition: before?.lastPosition ?? 0,
  lastId: before?.lastId ?? '',
  missing: before?.missing.copy() ?? new Ranges(),
  recent: [],
  closedTo: 0,
  removed: new Ranges(),
  removedDays: [],
});

export const idOf = ({ origin }: LogState): string => origin.slice(origin.lastIndexOf('/') + 1);

/** Takes a position for an entry without a seal. Returns false if it is sealed without the entry. */
export const takeOpen = (log: LogState, position: number): boolean =>
  position > log.closedTo && (position > log.lastPosition || log.missing.take(position, position));

/** Takes the positions that a seal names. Returns how many of them no entry may ever have. */
export function takePositions(log: LogState, seal: EntriesSeal, where: string): number {
  let voided = 0;
  for (const position of seal.late)
    if (!log.missing.take(position, position))
      throw new AlteredError(`${where} has position ${position} as late, which was not missing`);
  for (const [first, last] of seal.void) {
    if (!log.missing.take(first, last))
      throw new AlteredError(`${where} has positions ${first} to ${last} as void, which were not missing`);
    voided += last - first + 1;
  }
  if (seal.from !== null && seal.to !== null) {
    if (seal.from !== log.lastPosition + 1 || seal.to < seal.from)
      throw new AlteredError(
        `${where} begins at position ${seal.from}, and the seal before ended at ${log.lastPosition}`,
      );
    log.lastPosition = seal.to;
  }
  let next = seal.from ?? 1;
  for (const [first, last] of seal.missing) {
    if (first < next || last < first || last > (seal.to ?? 0))
      throw new AlteredError(`${where} has positions ${first} to ${last} as missing, which are not its own`);
    next = last + 1;
  }
  log.missing.add(seal.missing);
  const at = timeOf(seal.at);
  log.recent.push({ to: log.lastPosition, at });
  for (let [first] = log.recent; first && at - first.at > OPEN_MS; [first] = log.recent) {
    log.closedTo = first.to;
    log.recent.shift();
  }
  return voided;
}

/** Notes that the entries of a seal are gone. */
export function noteRemoved(log: LogState, seal: EntriesSeal | BeforeSealingSeal): void {
  log.removed.add([[seal.number, seal.number]]);
  if (seal.kind === 'before_sealing') log.lastId = seal.to;
  const day = dayOf((seal.kind === 'before_sealing' ? timeOfId(seal.to) : null) ?? timeOf(seal.at));
  if (log.removedDays.at(-1)?.day !== day) log.removedDays.push({ from: seal.number, day });
}

/** Notes that a seal names seals as removed. Returns how many days after them it was made, at the least; null if none are gone. */
export function takeRemoval(log: LogState, seal: RemovedSeal): number | null {
  let days: number | null = null;
  // Of some of them, entries may be there: the export had passed them when they were removed. They have been verified.
  for (const [first, last] of seal.seals) {
    log.removed.drop(first, last);
    for (const [index, { from, day }] of log.removedDays.entries()) {
      const isNamed = from <= last && (log.removedDays[index + 1]?.from ?? Number.POSITIVE_INFINITY) > first;
      if (isNamed) days = Math.min(days ?? Number.POSITIVE_INFINITY, dayOf(timeOf(seal.at)) - day);
    }
  }
  return days;
}

/** Throws RangeError for what is no time. */
function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new RangeError(`${text} is no time`);
  return time;
}

/** Returns the time in a UUID version 7, in milliseconds; null for others. */
const timeOfId = (id: string): number | null =>
  id.charAt(14) === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : null;

const dayOf = (time: number): number => Math.floor(time / 86_400_000);
