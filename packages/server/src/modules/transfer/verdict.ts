// What an import says about each row.
// It must not hold a password hash: verdicts are written to files and terminals.

/** What is wrong with a row. `field` is empty if the row as a whole is. */
export type Fault = { field: string; code: string; message: string };

/** A row as it was read, numbered from 1; a row that could not be read has only its fault. */
export type SourceRow = { row: number } & ({ value: Record<string, unknown> } | { fault: Fault });

export type Verdict = { row: number } & (
  | { verdict: 'created'; name: string; id: string; note?: string }
  /** A dry run found nothing wrong. */
  | { verdict: 'would_create'; name: string }
  /** A record has this email or name already. It was not changed. */
  | { verdict: 'exists'; name: string; id: string | null }
  | { verdict: 'refused'; name: string | null; errors: Fault[] }
);

// An email has at most 254 characters. Longer texts are not those of a name.
const MAX_SHOWN = 254;

export const refused = (row: number, shown: unknown, errors: Fault[]): Verdict => ({
  row,
  verdict: 'refused',
  name: typeof shown === 'string' ? shown.slice(0, MAX_SHOWN).toWellFormed() : null,
  errors,
});
