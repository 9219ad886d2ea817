// What the reader of another system's export declares.
import type { Reader } from '../mapping.ts';

export type FileType = 'ndjson' | 'csv' | 'json';

export type Format = {
  /** The type of its export, unless the name of the file ends with another. */
  type: FileType;
  /** The name of the list in a JSON file. */
  key: string;
  /** What `--credentials` names; absent if the format has no second file. */
  credentials?: string;
  /** Reads the second file, if there is one, and returns the reader of a row. */
  open: (credentials: string | undefined) => Promise<Reader>;
};

/** Returns the time of milliseconds since 1970, as a number or its digits; other texts stay as they are. */
export function since(value: unknown): string | null {
  const milliseconds = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof milliseconds !== 'number') return typeof value === 'string' ? value : null;
  const time = new Date(milliseconds);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Returns the id if it is a UUID: other systems also have other ids, which are not kept. */
export const uuidOnly = (value: unknown): unknown =>
  typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value) ? value : null;

const noes: ReadonlySet<unknown> = new Set([undefined, null, '', false, 'false', 'f', 0, '0', 'no', 'null']);

/**
 * Whether nobody has blocked the user, by what JSON, CSV and several databases write. What is not clearly a no blocks: an
 * account that was blocked must not be active.
 */
export const isNotBlocked = (blocked: unknown): boolean =>
  noes.has(typeof blocked === 'string' ? blocked.trim().toLowerCase() : blocked);
