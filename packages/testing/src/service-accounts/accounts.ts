// Creates service accounts and API keys directly in the database, which is faster and allows any state.
// It must not replace the operations that create them, which have tests of their own.
import { randomUUID } from 'node:crypto';
import { createApiKey } from '@castellan/server/platform/security/api-key';
import type { TestService } from '../harness.ts';
import { watch } from '../secret-watch.ts';

type Sql = Pick<TestService, 'sql'>;

export type TestKey = {
  /** Id of the record of the key. */
  keyId: string;
  /** The whole key: a secret. */
  key: string;
  /** `castellan_` and the 12 characters that name the key. */
  prefix: string;
};

/** A service account with one API key. */
export type TestServiceAccount = TestKey & { id: string; name: string };

type KeyState = {
  /** Names of permissions. The key is narrowed to them; an empty list narrows it to nothing. */
  narrowedTo?: readonly string[];
  /** When the key ends, counted from now; in the past if negative. Without it the key does not end by itself. */
  expiresInSeconds?: number;
  revoked?: boolean;
};

type AccountState = KeyState & {
  name?: string;
  active?: boolean;
  /** Names of permissions, which the account holds through a new role. */
  permissions?: readonly string[];
  /** Ids of further roles. */
  roles?: readonly string[];
};

/** Inserts a live API key of the account, not narrowed unless `state` says otherwise. */
export async function addApiKey(service: Sql, accountId: string, state: KeyState = {}): Promise<TestKey> {
  const keyId = randomUUID();
  const { text, prefix, hash } = createApiKey();
  watch.note(text, 'API key');
  await service.sql(
    `insert into api_keys
       (id, service_account_id, name, prefix, secret_hash, is_narrowed, expires_at, revoked_at)
     values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7), case when $8 then now() end)`,
    [
      keyId,
      accountId,
      `Key ${keyId}`,
      prefix,
      hash,
      state.narrowedTo !== undefined,
      state.expiresInSeconds ?? null,
      state.revoked ?? false,
    ],
  );
  await service.sql(
    `insert into api_key_permissions (api_key_id, permission_id)
     select $1, id from permissions where name = any($2)`,
    [keyId, state.narrowedTo ?? []],
  );
  return { keyId, key: text, prefix };
}

/** Inserts a service account with one API key; active and without permissions unless `state` says otherwise. */
export async function addServiceAccount(service: Sql, state: AccountState = {}): Promise<TestServiceAccount> {
  const id = randomUUID();
  const name = state.name ?? `Service ${id}`;
  await service.sql('insert into service_accounts (id, name, is_active) values ($1, $2, $3)', [
    id,
    name,
    state.active ?? true,
  ]);
  const roles = [...(state.roles ?? [])];
  if (state.permissions?.length) {
    const role = randomUUID();
    await service.sql('insert into roles (id, name) values ($1, $2)', [role, `Role ${role}`]);
    await service.sql(
      `insert into role_permissions (role_id, permission_id)
       select $1, id from permissions where name = any($2)`,
      [role, state.permissions],
    );
    roles.push(role);
  }
  await service.sql(
    `insert into service_account_roles (service_account_id, role_id) select $1, unnest($2::uuid[])`,
    [id, roles],
  );
  return { id, name, ...(await addApiKey(service, id, state)) };
}
