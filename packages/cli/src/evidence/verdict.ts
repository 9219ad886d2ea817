// What a verification of the sealed audit log finds, and how it fails. It must not know where the lines come from.

/** The exit code of a log of which not all could be shown. */
export const INCOMPLETE = 3;

/** Something is not what was sealed. The message says which seal and, where there is one, which position. */
export class AlteredError extends Error {
  override readonly name = 'AlteredError';
}

/** What was read is no export, no head or no key. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

export type Counts = {
  logs: number;
  seals: number;
  entries: number;
  /** Of the entries: those whose personal data was erased. */
  erased: number;
  /** Entries that were removed, because they were older than the retention. */
  removed: number;
  /** Positions that no entry may ever have. */
  void: number;
  /** Seals that were seen once and are not there. */
  lost: number;
  unsealed: number;
};

export const noCounts = (): Counts => ({
  logs: 0,
  seals: 0,
  entries: 0,
  erased: 0,
  removed: 0,
  void: 0,
  lost: 0,
  unsealed: 0,
});

/**
 * Nothing was altered. `incomplete`: what could not be shown, a sentence each. `removedAfterDays`: how long after their seal entries were
 * removed at the earliest; null if none were.
 */
export type Verdict = { counts: Counts; incomplete: string[]; removedAfterDays: number | null };
