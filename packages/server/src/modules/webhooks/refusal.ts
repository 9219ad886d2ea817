// The refusal of a field of a webhook: what is wrong, and what to write instead.
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../../platform/errors.ts';

/** Returns an error (422). `message` continues a sentence that begins with the field. */
export const refusal = (
  field: string,
  code: string,
  message: string,
  error: ErrorCode = 'validation_failed',
): AppError => new AppError(error, { detail: `${field} ${message}.`, errors: [{ field, code, message }] });
