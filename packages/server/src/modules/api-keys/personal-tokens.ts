// Authenticates people by a personal access token. It caches no result: an ended token is refused at the next request.
// It must not decide what a token may do.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Pool } from 'pg';
import { createBatchedLookup } from '../../platform/db/batched.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { personalTokenHash } from '../../platform/security/api-key.ts';
import { type AuditLog, recordBounded } from '../audit/service.ts';
import { findPersonalTokens, notePersonalUse, type PersonalTokenRow } from './personal-token-store.ts';
import { createUseNotes } from './use-notes.ts';
import { createWrongKeyLimit } from './wrong-key-limit.ts';

export type PersonalTokens = {
  /**
   * Returns the owner of a live token. Throws 401 (`personal_token_invalid`, `_expired`, `_revoked`), 403 while the setting turns
   * tokens off, or 429 after too many wrong ones from the network of the client.
   */
  byToken(text: string, client: Client): Promise<PersonalTokenRow>;
  /** Returns a token that somebody else presents, if it is live. A wrong one is neither counted nor recorded. */
  find(text: string): Promise<PersonalTokenRow | undefined>;
};

const refusals = {
  revoked: 'personal_token_revoked',
  expired: 'personal_token_expired',
} as const satisfies Partial<Record<PersonalTokenRow['state'], ErrorCode>>;

export function createPersonalTokens(deps: {
  reservedPool: Pool;
  pool: Pool;
  log: Logger;
  auditLog: AuditLog;
  settings: { personalTokens: boolean };
}): PersonalTokens {
  const { reservedPool, settings } = deps;
  const lookup = createBatchedLookup(reservedPool.options.max, (hashes: readonly Buffer[]) =>
    findPersonalTokens(reservedPool, hashes),
  );
  const limit = createWrongKeyLimit({ what: 'personal access tokens' });
  // At most once a minute for each token.
  const note = createUseNotes(deps.log, 'a personal access token', (ids) => notePersonalUse(deps.pool, ids));

  async function refuse(code: ErrorCode, client: Client, found?: PersonalTokenRow): Promise<never> {
    const over = limit.countWrong(client.address);
    await recordBounded(deps, client, {
      action: 'personal_token_refused',
      actorId: null,
      // A caller with an ended token has, or had, the token itself, so the entry names it. A wrong one names none.
      ...(found ? { actorTokenId: found.token_id } : {}),
      details: { reason: over ? 'rate_limited' : code },
    });
    throw over ?? new AppError(code);
  }

  return {
    async byToken(text, client) {
      if (!settings.personalTokens) throw new AppError('personal_tokens_off');
      const hash = personalTokenHash(text);
      const over = limit.refusalOf(client.address, hash);
      if (over) throw over;
      const found = hash && (await lookup(hash));
      if (!found) return refuse('personal_token_invalid', client);
      if (found.state !== 'live') return refuse(refusals[found.state], client, found);
      limit.countRight(client.address, hash);
      if (found.is_unnoted) note(found.token_id);
      return found;
    },
    async find(text) {
      const hash = settings.personalTokens ? personalTokenHash(text) : undefined;
      const found = hash && (await lookup(hash));
      if (found?.state !== 'live') return undefined;
      if (found.is_unnoted) note(found.token_id);
      return found;
    },
  };
}
