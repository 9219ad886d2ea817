// The tables as TypeScript sees them, and the three handles that code gets to them.
// It holds no query. Timestamps come out as Date, bytea as Buffer, jsonb as parsed JSON.
import type { ColumnType, Generated, Kysely, Transaction } from 'kysely';

type GeneratedAlways = ColumnType<Date, never, never>;
type GeneratedTimestamp = ColumnType<Date, Date | string | undefined, Date | string>;
type Json<T> = ColumnType<T, string, string>;

type Authored = {
  created_at: GeneratedTimestamp;
  updated_at: GeneratedTimestamp;
  created_by_id: string | null;
};

/** Raised by a trigger with every update. */
type Versioned = { version: Generated<number> };

export type Database = {
  users: {
    id: string;
    email: string;
    first_name: string;
    last_name: string;
    password_hash: string | null;
    password_epoch: Generated<number>;
    is_active: Generated<boolean>;
    is_superuser: Generated<boolean>;
    verified: Generated<boolean>;
    created_at: GeneratedTimestamp;
    updated_at: GeneratedTimestamp;
    version: Generated<number>;
  };
  password_history: { id: string; user_id: string; password_hash: string; created_at: GeneratedTimestamp };
  permission_groups: Authored &
    Versioned & {
      id: string;
      name: string;
      description: Generated<string>;
      parent_id: string | null;
    };
  permissions: Authored & { id: string; name: string; description: Generated<string>; group_id: string };
  role_groups: Authored &
    Versioned & {
      id: string;
      name: string;
      description: Generated<string>;
      parent_id: string | null;
    };
  roles: Authored &
    Versioned & {
      id: string;
      name: string;
      description: Generated<string>;
      role_group_id: string | null;
      is_system: Generated<boolean>;
    };
  role_group_roles: { role_group_id: string; role_id: string; created_at: GeneratedTimestamp };
  role_permissions: { role_id: string; permission_id: string; created_at: GeneratedTimestamp };
  user_roles: { user_id: string; role_id: string; created_at: GeneratedTimestamp };
  authz_version: { only_row: Generated<boolean>; version: Generated<string> };
  sessions: {
    id: string;
    user_id: string;
    origin_address: string | null;
    user_agent: string | null;
    created_at: GeneratedTimestamp;
    last_used_at: GeneratedTimestamp;
    expires_at: Date;
    revoked_at: Date | null;
    revoked_reason: string | null;
  };
  session_tokens: {
    user_id: string;
    token_hash: Buffer;
    session_id: string;
    kind: 'access' | 'refresh';
    jti: string;
    key_id: string;
    issued_at: Date;
    expires_at: Date;
    rotated_at: Date | null;
    successor_jti: string | null;
  };
  one_time_tokens: {
    token_hash: Buffer;
    purpose: 'verify_email' | 'reset_password';
    user_id: string;
    email: string;
    created_at: GeneratedTimestamp;
    expires_at: Date;
    used_at: Date | null;
  };
  login_attempts: {
    email: string;
    failures: Generated<number>;
    slots: Json<Record<string, number>>;
    locked_until: Date | null;
    updated_at: GeneratedTimestamp;
  };
  audit_logs: {
    id: string;
    actor_id: string | null;
    action: string;
    resource_type: string;
    resource_id: string;
    details: Json<Record<string, unknown>>;
    timestamp: GeneratedAlways;
  };
  idempotency_keys: {
    user_id: string;
    key: string;
    request_hash: Buffer;
    status: number | null;
    etag: string | null;
    body: string | null;
    created_at: GeneratedTimestamp;
  };
  signing_keys: {
    key_id: string;
    public_jwk: Json<{ x: string }>;
    private_key_sealed: Buffer;
    created_at: GeneratedTimestamp;
    signs_from: GeneratedTimestamp;
  };
};

/** Reads, and single statements that are atomic by themselves. */
export type Db = Kysely<Database>;
/** Writes that belong to a transaction that the caller opened. */
export type Tx = Transaction<Database>;
