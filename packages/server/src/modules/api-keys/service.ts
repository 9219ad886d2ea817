// Authenticates service accounts by an API key or by an access token made from one.
// It caches no result: an ended key is refused at the next request, on every instance.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Pool } from 'pg';
import { createBatchedLookup } from '../../platform/db/batched.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { ClientCredentials } from '../../platform/http/plugins/client-credentials.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { apiKeyHash } from '../../platform/security/api-key.ts';
import { tokenHash } from '../../platform/security/jwt.ts';
import { type AuditLog, recordBounded } from '../audit/service.ts';
import { type ClientRow, findKeys, findTokens, type KeyRow, noteUse, type TokenKey } from './store.ts';
import { createUseNotes } from './use-notes.ts';
import { createWrongKeyLimit } from './wrong-key-limit.ts';

export type { PersonalTokenRow } from './personal-token-store.ts';
export { createPersonalTokens, type PersonalTokens } from './personal-tokens.ts';
export type { ClientRow, KeyRow } from './store.ts';

export type ApiKeys = {
  /**
   * Returns the account of a live API key. Throws 401 (`api_key_invalid`, `_expired`, `_revoked`,
   * `service_account_inactive`), or 429 after too many wrong keys from the network of the client.
   */
  byKey(text: string, client: Client): Promise<KeyRow>;
  /** As `byKey`, for a key that is sent with the id of its account. A key of another account is `api_key_invalid`. */
  byCredentials(credentials: ClientCredentials, client: Client): Promise<KeyRow>;
  /**
   * Returns a key that somebody else presents, if it is live. A wrong one is neither counted nor recorded: it says
   * nothing about the caller.
   */
  find(text: string): Promise<KeyRow | undefined>;
  /** Returns the account of a live access token made from a key; undefined if the token does not count. */
  byToken(accountId: string, token: string): Promise<ClientRow | undefined>;
};

const refusals = {
  revoked: 'api_key_revoked',
  expired: 'api_key_expired',
  inactive: 'service_account_inactive',
} as const satisfies Partial<Record<KeyRow['state'], ErrorCode>>;

export function createApiKeys(deps: {
  reservedPool: Pool;
  pool: Pool;
  log: Logger;
  auditLog: AuditLog;
}): ApiKeys {
  const { reservedPool } = deps;
  const { max } = reservedPool.options;
  const findKey = createBatchedLookup(max, (hashes: readonly Buffer[]) => findKeys(reservedPool, hashes));
  const findToken = createBatchedLookup(max, (tokens: readonly TokenKey[]) =>
    findTokens(reservedPool, tokens),
  );
  const limit = createWrongKeyLimit();
  // At most once a minute for each key.
  const note = createUseNotes(deps.log, 'an API key', (ids) => noteUse(deps.pool, ids));

  async function refuse(code: ErrorCode, client: Client, found?: KeyRow): Promise<never> {
    const over = limit.countWrong(client.address);
    await recordBounded(deps, client, {
      action: 'api_key_refused',
      actorId: null,
      // A caller with an ended key has, or had, the key itself, so the entry names it. A wrong key names none.
      ...(found ? { actorKeyId: found.key_id } : {}),
      details: { reason: over ? 'rate_limited' : code },
    });
    throw over ?? new AppError(code);
  }

  async function authenticate(
    text: string,
    client: Client,
    isMeant: (key: KeyRow) => boolean,
  ): Promise<KeyRow> {
    const hash = apiKeyHash(text);
    const over = limit.refusalOf(client.address, hash);
    if (over) throw over;
    const found = hash && (await findKey(hash));
    if (!found || !isMeant(found)) return refuse('api_key_invalid', client, found);
    if (found.state !== 'live') return refuse(refusals[found.state], client, found);
    limit.countRight(client.address, hash);
    if (found.is_unnoted) note(found.key_id);
    return found;
  }

  return {
    byKey: (text, client) => authenticate(text, client, () => true),
    byCredentials: ({ id, secret }, client) =>
      authenticate(secret, client, ({ account_id }) => account_id === id.toLowerCase()),
    async find(text) {
      const hash = apiKeyHash(text);
      const found = hash && (await findKey(hash));
      if (found?.state !== 'live') return undefined;
      if (found.is_unnoted) note(found.key_id);
      return found;
    },
    async byToken(accountId, token) {
      const found = await findToken({ accountId, tokenHash: tokenHash(token) });
      if (found?.is_unnoted) note(found.key_id);
      return found;
    },
  };
}
