// Names and descriptions of records as they are stored, or a clear refusal.
import { AppError } from '../errors.ts';
import { UUID } from '../ids.ts';
import { cleanText } from './text.ts';

/** Longest description, in characters. The CHECK of the column has the same limit. */
const MAX_DESCRIPTION_LENGTH = 1_000;

/** Returns the name in NFC, trimmed. Throws `validation_failed` (422), which names `field`. */
export const cleanName = (value: string, max: number, field = 'name'): string =>
  clean(value, field, { min: 1, max });

/** As `cleanName`, for the name of a new record that requests or commands also name by its id. Refuses the form of an id. */
export function cleanNewName(value: string, max: number, field = 'name'): string {
  const name = cleanName(value, max, field);
  requireNoId(name, field);
  return name;
}

/** Throws `validation_failed` (422) for a name with the form of an id, which would be read as the id of another record. */
export function requireNoId(name: string, field = 'name'): void {
  if (!UUID.test(name)) return;
  const message = 'must not be a UUID, because it would be read as an id';
  throw new AppError('validation_failed', {
    detail: `${field} ${message}.`,
    errors: [{ field, code: 'uuid_name', message }],
  });
}

/** Returns the description in NFC, trimmed; it may be empty. Throws as `cleanName` does. */
export const cleanDescription = (value: string, field = 'description'): string =>
  clean(value, field, { min: 0, max: MAX_DESCRIPTION_LENGTH });

function clean(value: string, field: string, limits: { min: number; max: number }): string {
  const result = cleanText(value, limits);
  if (result.ok) return result.value;
  throw new AppError('validation_failed', {
    detail: `${field} ${result.message}.`,
    errors: [{ field, code: result.code, message: result.message }],
  });
}
