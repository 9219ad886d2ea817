// Which identifiers an API resource may have: absolute URIs that name no part of this service.
// It must not read the database.
import { AppError } from '../../platform/errors.ts';

/** A scheme, and characters that an URI may have (RFC 3986), but no fragment. */
const URI = /^[a-z][a-z0-9+.-]*:[!$-;=?-Z[\]_a-z~]+$/i;

/** Returns the identifier. Throws `validation_failed` (422). */
export function cleanIdentifier(text: string, publicUrl: string): string {
  if (!URI.test(text) || !URL.canParse(text))
    throw refusal('must be an absolute URI without a fragment, such as https://orders.example.com');
  const { href } = new URL(text);
  const own = `${new URL(publicUrl).href.replace(/\/$/, '')}/`;
  const given = href.endsWith('/') ? href : `${href}/`;
  if (given === own || given.startsWith(`${own}api/`) || given.startsWith(`${own}api?`))
    throw refusal('must not name Castellan, whose tokens are not those of applications');
  return text;
}

function refusal(message: string): AppError {
  return new AppError('validation_failed', {
    detail: `identifier ${message}.`,
    errors: [{ field: 'identifier', code: 'invalid_identifier', message }],
  });
}
