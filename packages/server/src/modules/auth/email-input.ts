// The e-mail of a public form as one canonical address, or a clear refusal.
import { AppError } from '../../platform/errors.ts';
import { canonicalEmail } from '../../platform/security/email.ts';

/** Throws `invalid_email` (400). */
export function requireEmail(input: string): string {
  const email = canonicalEmail(input);
  if (email === null)
    throw new AppError('invalid_email', {
      errors: [
        {
          field: 'email',
          code: 'invalid_email',
          message: 'must be an e-mail address such as ada@example.com',
        },
      ],
    });
  return email;
}
