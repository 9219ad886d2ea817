// Validates and normalizes first and last names.
import { AppError } from '../../platform/errors.ts';
import { cleanText } from '../../platform/security/text.ts';

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
const MAX_NAME_LENGTH = 100;

type Names = { first_name: string; last_name: string };

/**
 * Returns the names in NFC and trimmed. Only the last name may be empty. Throws `invalid_input` (400) with every wrong
 * field; `at` returns the path of a field in the request.
 */
export function cleanNames(names: Names, at?: (field: string) => string): Names;
export function cleanNames(
  names: Partial<Record<keyof Names, string | undefined>>,
  at?: (field: string) => string,
): Partial<Names>;
export function cleanNames(
  names: Partial<Record<keyof Names, string | undefined>>,
  at: (field: string) => string = (field) => field,
): Partial<Names> {
  const cleaned: Partial<Names> = {};
  const errors = [];
  for (const field of ['first_name', 'last_name'] as const) {
    const given = names[field];
    if (given === undefined) continue;
    const mayBeEmpty = field === 'last_name' && given.trim() === '';
    const result = cleanText(given, { min: mayBeEmpty ? 0 : 1, max: MAX_NAME_LENGTH });
    if (result.ok) cleaned[field] = result.value;
    else errors.push({ field: at(field), code: result.code, message: result.message });
  }
  if (errors.length > 0)
    throw new AppError('invalid_input', {
      detail: `${errors.map((one) => `${one.field} ${one.message}`).join('; ')}.`,
      errors,
    });
  return cleaned;
}
