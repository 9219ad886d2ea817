// The condition on the signing key that every statement which accepts a token must include.

/**
 * SQL condition on `session_tokens t` that excludes tokens of revoked keys. PostgreSQL evaluates the list once per
 * statement, over a table of a few rows.
 */
export const isOfTrustedKey = 't.key_id <> all (array(select key_id from revoked_signing_keys))';
