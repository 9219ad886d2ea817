// Reads the fields of a row, which come as JSON values or as texts of a CSV file.
// It must not name a field of a record.
import { AppError } from '../../platform/errors.ts';
import { refuseHostileText } from '../../platform/http/bodies/validation.ts';
import { UUID } from '../../platform/ids.ts';
import { cleanText } from '../../platform/security/text.ts';
import { isObject } from '../../platform/unknown-values.ts';
import type { Fault } from './verdict.ts';

/** Of roles and groups, as in the API; the database repeats it as CHECK constraints. */
export const MAX_NAME_LENGTH = 250;

/** Collects what is wrong with a row, so that a verdict names all of it. */
export class RowReader {
  readonly faults: Fault[] = [];
  readonly #row: Readonly<Record<string, unknown>>;

  constructor(row: Readonly<Record<string, unknown>>, known: readonly string[]) {
    this.#row = row;
    for (const field of Object.keys(row))
      if (!known.includes(field)) this.refuse(field, 'unknown_field', `is not one of ${known.join(', ')}`);
  }

  refuse(field: string, code: string, message: string): void {
    this.faults.push({ field, code, message });
  }

  has(field: string): boolean {
    return Object.hasOwn(this.#row, field);
  }

  #value(field: string): unknown {
    return this.has(field) ? this.#row[field] : undefined;
  }

  /** Returns the text; undefined if it is missing, null or empty. */
  text(field: string): string | undefined {
    const value = this.#value(field);
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    this.refuse(field, 'wrong_type', 'must be a text');
    return undefined;
  }

  /** Returns `absent` for a missing field, and false for an empty one. A time means true: that of a verification. */
  boolean(field: string, absent: boolean): boolean {
    if (!this.has(field)) return absent;
    const value = this.#value(field);
    const known = booleans.get(typeof value === 'string' ? value.toLowerCase() : value);
    if (known !== undefined) return known;
    if (typeof value === 'string' && time(value) !== undefined) return true;
    this.refuse(field, 'wrong_type', 'must be true or false, or the time since when it is true');
    return absent;
  }

  /** Returns an ISO 8601 time. A time without a zone is in UTC. `isPlanned`: it may be in the future. */
  time(field: string, { isPlanned = false }: { isPlanned?: boolean } = {}): string | undefined {
    const text = this.text(field);
    if (text === undefined) return undefined;
    const parsed = time(text);
    if (parsed === undefined)
      this.refuse(field, 'invalid_time', 'must be a time such as 2026-01-31T12:00:00Z');
    else if (!isPlanned && parsed.getTime() > Date.now())
      this.refuse(field, 'invalid_time', 'must not be in the future');
    else return parsed.toISOString();
    return undefined;
  }

  /** Returns a UUID in lower case. */
  id(field: string): string | undefined {
    const text = this.text(field);
    // The nil UUID is no id: pages begin after it.
    if (text === undefined || (UUID.test(text) && /[^0-]/.test(text))) return text?.toLowerCase();
    this.refuse(field, 'invalid_id', 'must be a UUID');
    return undefined;
  }

  /** Returns the distinct names of a list; a text has them separated by `;`. Undefined if the field is missing. */
  list(field: string): string[] | undefined {
    if (!this.has(field)) return undefined;
    const value = this.#value(field);
    if (value === null || value === '') return [];
    const items = typeof value === 'string' ? value.split(';') : value;
    if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) {
      this.refuse(field, 'wrong_type', 'must be a list of texts');
      return undefined;
    }
    return [...new Set(items.flatMap((item: string) => this.#nameOf(field, item) ?? []))];
  }

  /** Returns the members of an object; a text has them as JSON. Undefined if the field is missing, null or empty. */
  object(field: string): Record<string, unknown> | undefined {
    const value = this.#value(field);
    if (value === undefined || value === null || value === '') return undefined;
    const parsed = typeof value === 'string' ? parse(value) : value;
    if (isObject(parsed) && !Array.isArray(parsed) && isStorable(parsed)) return parsed;
    this.refuse(field, 'wrong_type', 'must be a JSON object, without NUL characters and ill-formed Unicode');
    return undefined;
  }

  /** Returns the name of another record, in NFC and trimmed. */
  name(field: string): string | undefined {
    const text = this.text(field);
    return text === undefined ? undefined : this.#nameOf(field, text);
  }

  // What no name can contain is refused before the database refuses the statement, and with it other rows.
  #nameOf(field: string, text: string): string | undefined {
    const name = cleanText(text, { min: 1, max: MAX_NAME_LENGTH });
    if (name.ok) return name.value;
    this.refuse(field, name.code, name.message);
    return undefined;
  }

  /** Returns what `clean` makes of a value, or undefined and notes the errors that it throws. */
  clean<T>(clean: () => T): T | undefined {
    try {
      return clean();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      for (const { field, code, message } of error.extras.errors ?? []) this.refuse(field, code, message);
      return undefined;
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the database can store it: the parser of requests refuses the same. */
function isStorable(value: unknown): boolean {
  try {
    refuseHostileText(value, Number.POSITIVE_INFINITY);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

const booleans: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...[true, 'true', 't', '1', 1, 'yes'].map((value) => [value, true] as const),
  ...[false, 'false', 'f', '0', 0, 'no', '', null].map((value) => [value, false] as const),
]);

const timeForm =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?)? ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i;

function time(text: string): Date | undefined {
  const [, day, clock = '00:00', fraction = '0', zone = 'Z'] = timeForm.exec(text) ?? [];
  if (day === undefined) return undefined;
  const digits = /^[+-]/.test(zone) ? zone.replace(':', '').padEnd(5, '0') : '+0000';
  const seconds = clock.length === 5 ? `${clock}:00` : clock;
  const parsed = new Date(
    `${day}T${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${digits.slice(0, 3)}:${digits.slice(3)}`,
  );
  // PostgreSQL has no year 0.
  return parsed.getUTCFullYear() >= 1 ? parsed : undefined;
}
