// When a personal access token is live, as SQL: the look-up of tokens and the changes made with them share it.
// It must not contain a whole statement.

/**
 * SQL condition on a personal access token `t` and its owner `u`. `time`: `now()`, or in a transaction that waited for locks
 * `statement_timestamp()`.
 */
export const isPersonalTokenLive = (time: 'now()' | 'statement_timestamp()'): string =>
  `(t.revoked_at is null and t.expires_at > ${time} and t.user_epoch = u.session_epoch and u.is_active)`;
