// Names and descriptions of records as they are stored, or a clear refusal.
import { AppError } from '../errors.ts';
import { UUID } from '../ids.ts';
import { canonicalEmail } from './email.ts';
import { cleanText } from './text.ts';

/** Longest description, in characters. The CHECK of the column has the same limit. */
const MAX_DESCRIPTION_LENGTH = 1_000;

/** Returns the name in NFC, trimmed. Throws `validation_failed` (422), which names `field`. */
export const cleanName = (value: string, max: number, field = 'name', min = 1): string =>
  clean(value, field, { min, max });

/** As `cleanName`, for the name of a new record that requests or commands also name by its id. Refuses the form of an id. */
export function cleanNewName(value: string, max: number, field = 'name'): string {
  const name = cleanName(value, max, field);
  requireNoId(name, field);
  return name;
}

/** Throws `validation_failed` (422) for a name with the form of an id, which would be read as the id of another record. */
export function requireNoId(name: string, field = 'name'): void {
  if (!UUID.test(name)) return;
  throw new AppError('validation_failed', {
    detail: `${field} ${uuidName.message}.`,
    errors: [{ field, ...uuidName }],
  });
}

const uuidName = { code: 'uuid_name', message: 'must not be a UUID, because it would be read as an id' };

/** Longest id of another system, in characters. The CHECK of the columns has the same limit. */
const MAX_EXTERNAL_ID_LENGTH = 250;

/** Why a text is no external id. `message` continues a sentence that begins with the field's name. */
type ExternalIdFault = { code: string; message: string };

/** Returns the id that another system gave to a record, in NFC, trimmed; or why it is none. */
function readExternalId(text: string): { value: string } | ExternalIdFault {
  const cleaned = cleanText(text, { min: 1, max: MAX_EXTERNAL_ID_LENGTH });
  if (!cleaned.ok) return cleaned;
  const { value } = cleaned;
  if (UUID.test(value)) return uuidName;
  if (/@.*\./.test(value) || canonicalEmail(value) !== null)
    return {
      code: 'email_name',
      message: 'must not have the form of an email, because it would be read as one',
    };
  return { value };
}

/**
 * Returns an external id as it is stored. Throws `code`, which is what the operation answers to a wrong value, and names `field`: a text
 * that is too long, not clean, or would be read as an id or an email.
 */
export function cleanExternalId(
  given: string | null,
  field = 'external_id',
  code: 'validation_failed' | 'invalid_input' = 'validation_failed',
): string | null {
  if (given === null) return null;
  const read = readExternalId(given);
  if ('value' in read) return read.value;
  throw new AppError(code, {
    detail: `${field} ${read.message}.`,
    errors: [{ field, code: read.code, message: read.message }],
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
