// Generated from packages/server/migrations by `npm run gen`: add a migration instead of changing it here.
// Every table as node-postgres reads and writes it.
import type { ColumnType } from 'kysely';

/** Computed by PostgreSQL, never written. */
type Computed<T> =
  T extends ColumnType<infer S, unknown, unknown> ? ColumnType<S, never, never> : ColumnType<T, never, never>;
/** Has a default: an insert may leave it out. */
type Defaulted<T> =
  T extends ColumnType<infer S, infer I, infer U>
    ? ColumnType<S, I | undefined, U>
    : ColumnType<T, T | undefined, T>;
/** Read as a decimal string: a JavaScript number does not hold every bigint. */
type Int8 = ColumnType<string, string | number | bigint, string | number | bigint>;
/** Read as parsed JSON, written as its text. */
type Json = ColumnType<unknown, string, string>;
type Timestamp = ColumnType<Date, Date | string, Date | string>;

export type Tables = {
  access_grants: {
    id: string;
    application_id: string;
    user_id: string;
    session_id: string;
    user_epoch: number;
    offline: boolean;
    scopes: string[];
    resources: Defaulted<Json>;
    claims: Json | null;
    nonce: string | null;
    redirect_uri: string | null;
    code_hash: Buffer | null;
    code_challenge: string | null;
    code_expires_at: Timestamp | null;
    code_used_at: Timestamp | null;
    dpop_jkt: string | null;
    auth_time: Timestamp;
    acr: string;
    amr: string[];
    turn: Defaulted<number>;
    turned_at: Timestamp | null;
    refresh_expires_at: Timestamp | null;
    expires_at: Timestamp;
    created_at: Defaulted<Timestamp>;
    last_used_at: Timestamp | null;
    revoked_at: Timestamp | null;
    revoked_reason: string | null;
    ends_at: Timestamp | null;
    application_epoch: number;
  };
  activity_days: {
    day: Date;
    slot: number;
    sign_ins: Int8;
    refusals: Int8;
    registrations: Int8;
  };
  api_key_permissions: {
    api_key_id: string;
    permission_id: string;
  };
  api_keys: {
    id: string;
    service_account_id: string;
    name: string;
    prefix: string;
    secret_hash: Buffer;
    is_narrowed: Defaulted<boolean>;
    expires_at: Timestamp | null;
    revoked_at: Timestamp | null;
    last_used_at: Timestamp | null;
    created_at: Defaulted<Timestamp>;
    lifetime: unknown | null;
    is_narrowed_by_maker: Defaulted<boolean>;
    made_with_key_ids: Defaulted<string[]>;
  };
  api_resource_groups: {
    api_resource_id: string;
    permission_group_id: string;
  };
  api_resources: {
    id: string;
    identifier: string;
    name: string;
    description: Defaulted<string>;
    access_token_seconds: number;
    signing_alg: 'RS256' | 'ES256';
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
  };
  application_ends: {
    id: Computed<Int8>;
    application_id: string;
    before_epoch: number | null;
  };
  application_keys: {
    key_id: string;
    alg: 'RS256' | 'ES256';
    public_jwk: Json;
    private_key_sealed: Buffer;
    created_at: Defaulted<Timestamp>;
    signs_from: Defaulted<Timestamp>;
  };
  application_requests: {
    id_hash: Buffer;
    kind: 'pushed' | 'interaction' | 'sign_out';
    application_id: string | null;
    parameters: Json;
    state: Defaulted<Json>;
    created_at: Defaulted<Timestamp>;
    expires_at: Timestamp;
    used_at: Timestamp | null;
  };
  application_resources: {
    application_id: string;
    resource_id: string;
    permission_ids: string[];
  };
  application_secrets: {
    id: string;
    application_id: string;
    name: string;
    prefix: string;
    secret_hash: Buffer;
    created_at: Defaulted<Timestamp>;
    expires_at: Timestamp | null;
    revoked_at: Timestamp | null;
    last_used_at: Timestamp | null;
  };
  application_sessions: {
    user_id: string;
    session_id: string;
    application_id: string;
    sid: string;
    expires_at: Timestamp;
    first_at: Defaulted<Timestamp>;
    last_at: Defaulted<Timestamp>;
    told_at: Timestamp | null;
  };
  application_tokens: {
    token_hash: Buffer;
    grant_id: string;
    user_id: string;
    jti: string;
    aud: string | null;
    scopes: string[];
    dpop_jkt: string | null;
    key_id: string | null;
    issued_at: Timestamp;
    expires_at: Timestamp;
  };
  applications: {
    id: string;
    client_id: string;
    name: string;
    description: Defaulted<string>;
    home_url: string | null;
    policy_url: string | null;
    terms_url: string | null;
    type: 'web' | 'spa' | 'native' | 'device';
    is_active: Defaulted<boolean>;
    auth_method: 'secret' | 'private_key_jwt' | 'none';
    jwks: Json | null;
    jwks_url: string | null;
    grant_types: string[];
    redirect_uris: string[];
    post_logout_redirect_uris: string[];
    allowed_origins: string[];
    backchannel_logout_url: string | null;
    first_party: boolean;
    required_permission_id: string | null;
    scopes: string[];
    subject_type: 'public' | 'pairwise';
    sector: string | null;
    id_token_signing_alg: 'RS256' | 'ES256';
    id_token_claims: 'all' | 'minimal';
    require_pkce: boolean;
    require_par: boolean;
    require_dpop: boolean;
    access_token_seconds: number;
    id_token_seconds: number;
    refresh_idle_days: number;
    grant_days: number;
    default_max_age: number | null;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
    claims: Defaulted<unknown>;
    access_epoch: Defaulted<number>;
  };
  audit_keys: {
    key_id: string;
    public_key: Buffer;
    private_key_sealed: Buffer;
    created_at: Defaulted<Timestamp>;
    retired_at: Timestamp | null;
  };
  audit_log_head: {
    only_row: Defaulted<boolean>;
    log: number | null;
    size: Defaulted<Int8>;
    hashes: Defaulted<Buffer[]>;
    checkpoint: string | null;
    sealed_position: Defaulted<Int8>;
    sealed_id: string | null;
    is_past_sealed: Defaulted<boolean>;
    sealed_at: Timestamp | null;
    published_log: number | null;
    published_size: Defaulted<Int8>;
    published_at: Timestamp | null;
    is_restored: Defaulted<boolean>;
  };
  audit_logs: {
    id: string;
    actor_id: string | null;
    action: string;
    resource_type: string;
    resource_id: Defaulted<string>;
    details: Defaulted<Json>;
    timestamp: Defaulted<Timestamp>;
    actor_email: string | null;
    actor_type: 'user' | 'service_account' | null;
    actor_name: string | null;
    resource_name: string | null;
    acted_by_id: string | null;
    position: Defaulted<Int8 | null>;
    salt: Defaulted<string | null>;
    personal_hash: Buffer | null;
  };
  audit_member_lists: {
    id: string;
    lists: Json;
  };
  audit_missing: {
    from_position: Int8;
    to_position: Int8;
    since: Defaulted<Timestamp>;
  };
  audit_outbox: {
    position: Computed<Int8>;
    entry_id: string;
  };
  audit_salts: {
    entry_id: string;
    salt: Defaulted<string>;
  };
  audit_seal_logs: {
    number: number;
    id: string;
    origin: string;
    created_at: Defaulted<Timestamp>;
  };
  audit_seal_nodes: {
    log: number;
    level: number;
    index: Int8;
    hash: Buffer;
  };
  audit_seals: {
    log: number;
    number: Int8;
    kind: string;
    content: string;
    leaf: Buffer;
    from_position: Int8 | null;
    to_position: Int8 | null;
    from_id: string | null;
    to_id: string | null;
    late: string[] | null;
    lists_id: string | null;
    entries: Defaulted<number>;
    last_entry_at: Timestamp | null;
    removed_by: Int8 | null;
  };
  audit_sink: {
    only_row: Defaulted<boolean>;
    sender: string | null;
    locked_until: Timestamp | null;
    seen_at: Defaulted<Timestamp>;
  };
  authz_changes: {
    slot: number;
    version: Int8;
    previous_stamp: string;
    stamp: string;
    role_ids: string[] | null;
    permission_ids: string[] | null;
  };
  authz_version: {
    only_row: Defaulted<boolean>;
    version: Defaulted<Int8>;
    stamp: Defaulted<string>;
  };
  catalogue_version: {
    only_row: Defaulted<boolean>;
    stamp: Defaulted<string>;
  };
  client_tokens: {
    service_account_id: string;
    token_hash: Buffer;
    api_key_id: string;
    jti: string;
    key_id: string;
    epoch: number;
    issued_at: Timestamp;
    expires_at: Timestamp;
  };
  consents: {
    user_id: string;
    application_id: string;
    scopes: string[];
    permission_ids: Defaulted<string[]>;
    agreed_at: Defaulted<Timestamp>;
    last_used_at: Defaulted<Timestamp>;
  };
  deliveries: {
    id: Computed<Int8>;
    target_id: string;
    source_id: string;
    type: string;
    content: Json | null;
    key: Int8;
    replay_id: string | null;
    state: Defaulted<'waiting' | 'sent' | 'dead'>;
    attempts: Defaulted<number>;
    due_at: Defaulted<Timestamp>;
    tried_since: Timestamp | null;
    created_at: Defaulted<Timestamp>;
    settled_at: Timestamp | null;
  };
  delivery_attempts: {
    delivery_id: Int8;
    at: Defaulted<Timestamp>;
    status: number | null;
    cause: string | null;
    ms: number;
  };
  delivery_targets: {
    id: string;
    kind: string;
    parallel: number;
    holder: string | null;
    locked_until: Timestamp | null;
    paused_at: Timestamp | null;
    paused_reason: string | null;
    next_at: Timestamp | null;
    failures: Defaulted<number>;
    failing_since: Timestamp | null;
    last_success_at: Timestamp | null;
    created_at: Defaulted<Timestamp>;
    under_way: Defaulted<string[]>;
  };
  device_requests: {
    code_hash: Buffer;
    user_code: string;
    application_id: string;
    scopes: string[];
    resources: Defaulted<Json>;
    address: string;
    user_agent: string | null;
    interaction_hash: Buffer | null;
    user_id: string | null;
    interval_seconds: Defaulted<number>;
    polled_at: Timestamp | null;
    grant_id: string | null;
    denied_at: Timestamp | null;
    created_at: Defaulted<Timestamp>;
    expires_at: Timestamp;
  };
  devices: {
    id: string;
    user_id: string;
    token_hash: Buffer;
    network: string | null;
    user_agent: string | null;
    created_at: Defaulted<Timestamp>;
    last_used_at: Defaulted<Timestamp>;
    trusted_until: Timestamp | null;
    trusted_epoch: number | null;
    failures: Defaulted<number>;
    code_failures: Defaulted<number>;
    slots: Defaulted<Json>;
    locked_until: Timestamp | null;
    code_locked_until: Timestamp | null;
  };
  email_changes: {
    id: string;
    user_id: string;
    former_email: string;
    new_email: string;
    session_id: string;
    session_epoch: number;
    requested_at: Defaulted<Timestamp>;
    confirmed_at: Timestamp | null;
  };
  erasures: {
    user_id: string;
    email: string;
    actor_id: string;
    actor_type: string;
    actor_name: string | null;
    actor_key_id: string | null;
    roles: number;
    sessions: number;
    entries: Defaulted<number>;
    stage: Defaulted<'actor' | 'resource' | 'email' | 'acted_by'>;
    after_time: Timestamp | null;
    after_id: string | null;
    created_at: Defaulted<Timestamp>;
  };
  factor_attempts: {
    user_id: string;
    failures: Defaulted<number>;
    locks: Defaulted<number>;
    total: Defaulted<number>;
    locked_until: Timestamp | null;
    updated_at: Defaulted<Timestamp>;
  };
  factor_user_counts: {
    only_row: Defaulted<boolean>;
    users: Int8;
    counted_at: Timestamp;
  };
  feed_log: {
    seq: Int8;
    stamp: Defaulted<string>;
    changes: Json;
    at: Defaulted<Timestamp>;
  };
  feed_queue: {
    id: Computed<Int8>;
    type: string;
    ref: string;
    body: Json | null;
  };
  feed_state: {
    only_row: Defaulted<boolean>;
    is_on: Defaulted<boolean>;
    wanted_until: Timestamp | null;
    seq: Defaulted<Int8>;
    stamp: Defaulted<string>;
  };
  idempotency_keys: {
    user_id: string;
    key: string;
    request_hash: Buffer;
    status: number | null;
    etag: string | null;
    body: string | null;
    created_at: Defaulted<Timestamp>;
  };
  identities: {
    id: string;
    user_id: string;
    provider_id: string;
    issuer: string;
    subject: string;
    email: string | null;
    display_name: string | null;
    created_at: Defaulted<Timestamp>;
    last_used_at: Timestamp | null;
  };
  identity_provider_roles: {
    provider_id: string;
    role_id: string;
  };
  identity_providers: {
    id: string;
    slug: string;
    name: string;
    kind: 'oidc' | 'google' | 'microsoft' | 'github' | 'apple';
    issuer: string;
    client_id: string;
    client_auth: 'client_secret_basic' | 'client_secret_post' | 'private_key' | 'none';
    secret_sealed: Buffer | null;
    team_id: string | null;
    key_id: string | null;
    scopes: string[];
    is_active: Defaulted<boolean>;
    is_shown: Defaulted<boolean>;
    position: number;
    sign_up: 'none' | 'domains' | 'everyone';
    domains: string[];
    required_for_domains: boolean;
    tenants: string[];
    email_trust: 'none' | 'domains';
    connect: 'confirm' | 'trusted';
    allow_superusers: boolean;
    mapping: 'creation' | 'every_sign_in';
    sync_names: boolean;
    acr_mapping: Json;
    logout: 'here' | 'upstream';
    extra_parameters: Json;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
  };
  identity_role_mappings: {
    provider_id: string;
    position: number;
    claim: string;
    equals: string;
    role_id: string;
  };
  job_schedule: {
    name: string;
    next_at: Timestamp;
  };
  last_logins: {
    user_id: string;
    logged_in_at: Timestamp;
  };
  live_session_changes: {
    expires_in: Timestamp;
    change: Int8;
  };
  live_session_counts: {
    only_row: Defaulted<boolean>;
    sessions: Int8;
    counted_at: Timestamp;
  };
  live_session_recounts: {
    asked_at: Defaulted<Timestamp>;
    user_id: string | null;
    epoch: number | null;
  };
  login_attempts: {
    email: string;
    failures: Defaulted<number>;
    slots: Defaulted<Json>;
    locked_until: Timestamp | null;
    updated_at: Defaulted<Timestamp>;
  };
  logout_backlog: {
    id: Computed<Int8>;
    user_id: string | null;
    session_id: string | null;
    application_id: string | null;
    reason: string;
    application: Json | null;
    ended_at: Defaulted<Timestamp>;
  };
  logout_notices: {
    id: Computed<Int8>;
    application_id: string;
    user_id: string;
    sid: string;
    reason: string;
    state: Defaulted<'waiting' | 'sent' | 'refused' | 'given_up'>;
    attempts: Defaulted<number>;
    next_at: Defaulted<Timestamp>;
    locked_until: Timestamp | null;
    status: number | null;
    error: string | null;
    application: Json | null;
    created_at: Defaulted<Timestamp>;
    sent_at: Timestamp | null;
  };
  lost_access_checks: {
    only_row: Defaulted<boolean>;
    seen: string;
    seen_at: Defaulted<Timestamp>;
    checked_at: Defaulted<Timestamp>;
  };
  one_time_tokens: {
    token_hash: Buffer;
    purpose:
      | 'verify_email'
      | 'reset_password'
      | 'recover'
      | 'invitation'
      | 'change_email'
      | 'revert_email'
      | 'undo_deletion';
    user_id: string;
    email: string;
    created_at: Defaulted<Timestamp>;
    expires_at: Timestamp;
    used_at: Timestamp | null;
    email_change_id: string | null;
  };
  outbox: {
    id: Defaulted<string>;
    kind: string;
    payload: Json;
    created_at: Defaulted<Timestamp>;
    run_at: Defaulted<Timestamp>;
    attempts: Defaulted<number>;
    locked_until: Timestamp | null;
    last_error: string | null;
    sent_at: Timestamp | null;
    failed_at: Timestamp | null;
  };
  pairwise_salt: {
    only_row: Defaulted<boolean>;
    salt: Buffer;
  };
  passkeys: {
    id: string;
    user_id: string;
    credential_id: Buffer;
    public_key: Buffer;
    kind: 'passkey' | 'security_key';
    name: string;
    rp_id: string;
    sign_count: Int8;
    transports: Defaulted<string[]>;
    aaguid: string | null;
    backup_eligible: boolean;
    backed_up: boolean;
    created_at: Defaulted<Timestamp>;
    last_used_at: Timestamp | null;
  };
  password_history: {
    id: string;
    user_id: string;
    password_hash: string;
    created_at: Defaulted<Timestamp>;
  };
  pending_sign_ins: {
    token_hash: Buffer;
    user_id: string;
    browser_hash: Buffer;
    device_id: string | null;
    network: string;
    session_epoch: number;
    password_epoch: number;
    failures: Defaulted<number>;
    tries: Defaulted<number>;
    created_at: Defaulted<Timestamp>;
    expires_at: Timestamp;
    completed_at: Timestamp | null;
    identity_id: string | null;
    provider_sid: string | null;
    provider_id_token_sealed: Buffer | null;
  };
  permission_groups: {
    id: string;
    name: string;
    description: Defaulted<string>;
    parent_id: string | null;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
  };
  permissions: {
    id: string;
    name: string;
    description: Defaulted<string>;
    group_id: string;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    is_builtin: Defaulted<boolean>;
    required_acr: 'aal1' | 'aal2' | 'phr' | null;
    max_auth_age: number | null;
  };
  personal_token_permissions: {
    personal_token_id: string;
    permission_id: string;
  };
  personal_tokens: {
    id: string;
    user_id: string;
    name: string;
    prefix: string;
    secret_hash: Buffer;
    user_epoch: number;
    acr: 'aal1' | 'aal2' | 'phr';
    is_narrowed: boolean;
    is_narrowed_by_maker: boolean;
    expires_at: Timestamp;
    revoked_at: Timestamp | null;
    last_used_at: Timestamp | null;
    created_at: Defaulted<Timestamp>;
  };
  provider_sign_ins: {
    state_hash: Buffer;
    cookie_hash: Buffer;
    provider_id: string;
    purpose: 'sign_in' | 'connect';
    user_id: string | null;
    session_id: string | null;
    begun_sealed: Buffer;
    posted_sealed: Buffer | null;
    result_sealed: Buffer | null;
    email: string | null;
    code_hash: Buffer | null;
    code_expires_at: Timestamp | null;
    code_tries: Defaulted<number>;
    created_at: Defaulted<Timestamp>;
    expires_at: Timestamp;
    used_at: Timestamp | null;
    finished_at: Timestamp | null;
  };
  rate_limits: {
    key: string;
    hits: number;
    reset_at: Timestamp;
  };
  recovery_codes: {
    user_id: string;
    selector: string;
    code_hash: string;
    used_at: Timestamp | null;
    created_at: Defaulted<Timestamp>;
  };
  revoked_signing_keys: {
    key_id: string;
    revoked_at: Defaulted<Timestamp>;
    swept_at: Timestamp | null;
  };
  role_group_roles: {
    role_group_id: string;
    role_id: string;
    created_at: Defaulted<Timestamp>;
  };
  role_groups: {
    id: string;
    name: string;
    description: Defaulted<string>;
    parent_id: string | null;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
  };
  role_holder_changes: {
    role_id: string | null;
    change: Int8 | null;
  };
  role_permissions: {
    role_id: string;
    permission_id: string;
    created_at: Defaulted<Timestamp>;
  };
  roles: {
    id: string;
    name: string;
    description: Defaulted<string>;
    role_group_id: string | null;
    is_system: Defaulted<boolean>;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
    required_acr: 'aal2' | 'phr' | null;
    enforced_from: Timestamp | null;
  };
  schema_checksums: {
    name: string;
    checksum: string;
    is_expand: Defaulted<boolean>;
  };
  schema_migrations: {
    name: string;
    timestamp: string;
  };
  schema_migrations_lock: {
    id: string;
    is_locked: Defaulted<number>;
  };
  service_account_roles: {
    service_account_id: string;
    role_id: string;
    created_at: Defaulted<Timestamp>;
  };
  service_accounts: {
    id: string;
    name: string;
    description: Defaulted<string>;
    is_active: Defaulted<boolean>;
    token_epoch: Defaulted<number>;
    last_used_at: Timestamp | null;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
    external_id: string | null;
  };
  session_ends: {
    id: Computed<Int8>;
    user_id: string;
    session_id: string | null;
    before_epoch: number | null;
    reason: string;
    ended_at: Defaulted<Timestamp>;
  };
  session_tokens: {
    user_id: string;
    token_hash: Buffer;
    session_id: string;
    kind: 'access' | 'refresh' | 'browser' | 'acting';
    jti: string;
    key_id: string;
    issued_at: Timestamp;
    expires_at: Timestamp;
    rotated_at: Timestamp | null;
    successor_jti: string | null;
    signed_expires_at: Timestamp | null;
    acr: string | null;
    amr: string[] | null;
    auth_time: Timestamp | null;
  };
  sessions: {
    id: string;
    user_id: string;
    origin_address: string | null;
    user_agent: string | null;
    created_at: Defaulted<Timestamp>;
    last_used_at: Defaulted<Timestamp>;
    expires_at: Timestamp;
    revoked_at: Timestamp | null;
    revoked_reason: string | null;
    epoch: Defaulted<number>;
    origin_network: string | null;
    is_new_network: Defaulted<boolean>;
    last_address: string | null;
    other_origin_address: string | null;
    proof: string | null;
    device_id: string | null;
    identity_id: string | null;
    provider_sid: string | null;
    provider_id_token_sealed: Buffer | null;
    acted_by_id: string | null;
    acted_by_session_id: string | null;
  };
  signing_keys: {
    key_id: string;
    public_jwk: Json;
    private_key_sealed: Buffer;
    created_at: Defaulted<Timestamp>;
    signs_from: Defaulted<Timestamp>;
    purpose: Defaulted<string>;
    alg: Defaulted<string>;
  };
  totp_enrolments: {
    user_id: string;
    session_id: string;
    secret_sealed: Buffer;
    failures: Defaulted<number>;
    expires_at: Timestamp;
  };
  totp_factors: {
    user_id: string;
    secret_sealed: Buffer;
    last_step: Defaulted<Int8>;
    created_at: Defaulted<Timestamp>;
    last_used_at: Timestamp | null;
    suspended_at: Timestamp | null;
  };
  used_challenges: {
    challenge_hash: Buffer;
    expires_at: Timestamp;
  };
  used_logout_tokens: {
    provider_id: string;
    jti_hash: Buffer;
    expires_at: Timestamp;
  };
  used_proofs: {
    owner: string;
    jti_hash: Buffer;
    expires_at: Timestamp;
  };
  user_attribute_values: {
    user_id: string;
    attribute_id: string;
    value: Json;
    key: Buffer;
    is_unique: boolean;
  };
  user_attributes: {
    id: string;
    name: string;
    label: string;
    description: string;
    type: 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'url' | 'enum' | 'json';
    values: string[] | null;
    max_length: number | null;
    unique: boolean;
    searchable: boolean;
    self: 'none' | 'read' | 'write';
    required: boolean;
    claims: boolean;
    sensitive: boolean;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
  };
  user_changes: {
    id: string;
    created_at: Timestamp;
    email: string;
    last_name: string;
    is_active: boolean;
    verified: boolean;
    change: number;
  };
  user_marks: {
    order: string;
    id: string;
    created_at: Timestamp | null;
    email: string | null;
    last_name: string | null;
    active_verified: Int8;
    active_unverified: Int8;
    inactive_verified: Int8;
    inactive_unverified: Int8;
  };
  user_roles: {
    user_id: string;
    role_id: string;
    created_at: Defaulted<Timestamp>;
  };
  users: {
    id: string;
    email: string;
    first_name: string;
    last_name: string;
    password_hash: string | null;
    password_epoch: Defaulted<number>;
    is_active: Defaulted<boolean>;
    is_superuser: Defaulted<boolean>;
    verified: Defaulted<boolean>;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    version: Defaulted<number>;
    search_text: Computed<string>;
    session_epoch: Defaulted<number>;
    pending_registration: Defaulted<boolean>;
    link_epoch: Defaulted<number>;
    must_change_password: Defaulted<boolean>;
    language: string | null;
    without_roles: Defaulted<boolean>;
    recovery_pending: Defaulted<boolean>;
    has_factor: Defaulted<boolean>;
    recovery_handed_over: Defaulted<boolean>;
    invited_at: Timestamp | null;
    invitation_hours: number | null;
    invitation_sent_at: Timestamp | null;
    invitation_expires_at: Timestamp | null;
    deletion_due_at: Timestamp | null;
    external_id: string | null;
  };
  webhook_replays: {
    id: string;
    webhook_id: string;
    from_at: Timestamp;
    to_at: Timestamp;
    actions: string[];
    only_dead: boolean;
    after_at: Timestamp | null;
    after_id: string | null;
    created_at: Defaulted<Timestamp>;
  };
  webhook_secrets: {
    id: string;
    webhook_id: string;
    secret_sealed: Buffer;
    created_at: Defaulted<Timestamp>;
    ends_at: Timestamp | null;
  };
  webhooks: {
    id: string;
    name: string;
    url: string;
    events: string[];
    actions: string[];
    resource_types: string[] | null;
    results: 'all' | 'failure';
    personal: boolean;
    created_at: Defaulted<Timestamp>;
    updated_at: Defaulted<Timestamp>;
    created_by_id: string | null;
    version: Defaulted<number>;
  };
};
