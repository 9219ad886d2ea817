// Building blocks that more than one noun uses: ids, timestamps, e-mail and name inputs.
// Limits stand here once; the database repeats them as CHECK constraints.
import Type from 'typebox';

/** Any case is accepted on the way in; answers carry lower case. */
export const Uuid = Type.String({ format: 'uuid' });

export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' });

/** Shape only: whether it is an address that can be used is the server's canonicaliser's business. */
export const EmailInput = Type.String({ minLength: 1, maxLength: 1000, examples: ['ada@example.com'] });

/** Bounded so that a hostile body cannot make later steps expensive; the policy's own limit is 128. */
export const PasswordInput = Type.String({ minLength: 1, maxLength: 10_000 });

/** 1 to 100 characters of any script; markup and control characters are refused. */
export const PersonNameInput = (example: string) =>
  Type.String({ minLength: 1, maxLength: 400, examples: [example] });
