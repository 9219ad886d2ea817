// The refusal of a field of an identity provider: what is wrong, and what to write instead.
import { AppError } from '../../platform/errors.ts';

/** Returns `validation_failed` (422). `message` continues a sentence that begins with the field. */
export const refusal = (field: string, code: string, message: string): AppError =>
  new AppError('validation_failed', {
    detail: `${field} ${message}.`,
    errors: [{ field, code, message }],
  });
