// Positions in the log of changes, and the cursors that clients get for them. It must not read the log.
import { AppError } from '../../platform/errors.ts';

/** A row of the log. Numbers may repeat after a restore or a failover; stamps are random and never do. */
export type Position = { readonly seq: number; readonly stamp: string };

const CURSOR = /^(\d{1,15})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export const cursorOf = ({ seq, stamp }: Position): string => `${seq}.${stamp}`;

/** Returns the position of a cursor; null without one. Throws `invalid_cursor` (400). */
export function readCursor(text: string | undefined): Position | null {
  if (text === undefined || text === '') return null;
  const [, seq, stamp] = CURSOR.exec(text) ?? [];
  if (seq === undefined || stamp === undefined) throw new AppError('invalid_cursor');
  return { seq: Number(seq), stamp };
}
