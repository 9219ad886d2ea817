-- Phase: expand
-- Locks: users
-- Webhooks: endpoints of others that are told what the audit log records.

create table webhooks (
  -- Also of its row in delivery_targets.
  id uuid constraint webhooks_id_pkey primary key,
  name text not null,
  url text not null,
  -- As written: *, a type, or the beginning of some and *.
  events text[] not null,
  -- The types that the patterns match, without those that `results` leaves out. Each start writes it anew.
  actions text[] not null,
  -- Null: all.
  resource_types text[],
  results text not null constraint webhooks_results_check check (results in ('all', 'failure')),
  -- Whether events show names, emails, addresses and user agents.
  personal boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint webhooks_created_by_id_fkey references users (id) on delete set null,
  version integer not null default 1,
  constraint webhooks_name_check check (char_length(name) between 1 and 100)
);
create index webhooks_created_by_id_idx on webhooks (created_by_id);
create trigger webhooks_raise_version before update on webhooks
  for each row execute function raise_record_version();

create table webhook_secrets (
  id uuid constraint webhook_secrets_id_pkey primary key,
  webhook_id uuid not null constraint webhook_secrets_webhook_id_fkey references webhooks (id) on delete cascade,
  -- Sealed for this secret.
  secret_sealed bytea not null,
  created_at timestamptz not null default now(),
  -- Null: it does not end.
  ends_at timestamptz
);
create index webhook_secrets_webhook_id_idx on webhook_secrets (webhook_id);

-- Replays that are being queued: a job goes through past entries in batches.
create table webhook_replays (
  id uuid constraint webhook_replays_id_pkey primary key,
  webhook_id uuid not null constraint webhook_replays_webhook_id_fkey references webhooks (id) on delete cascade,
  from_at timestamptz not null,
  to_at timestamptz not null,
  actions text[] not null,
  only_dead boolean not null,
  -- Where the next batch begins: the time and id of an entry, or the id of a dead delivery. Null: at the beginning.
  after_at timestamptz,
  after_id text,
  created_at timestamptz not null default now()
);
create index webhook_replays_webhook_id_idx on webhook_replays (webhook_id);

-- The key of deliveries about a record: 8 bytes of a SHA-256. Entries about no record have an order with none.
create function delivery_key(resource_type text, resource_id text, entry_id uuid) returns bigint
language sql immutable as $$
  select ('x' || left(encode(sha256(convert_to(
    case when resource_id = '' then entry_id::text else resource_type || ':' || resource_id end, 'UTF8')), 'hex'), 16)
  )::bit(64)::bigint
$$;

-- As before, and for the webhooks that want the entries.
create or replace function queue_audit_entries() returns trigger language plpgsql as $$
begin
  if exists (select from audit_sink) then
    insert into audit_outbox (entry_id) select id from new_rows order by "timestamp", id;
  end if;
  if exists (select from webhooks) then
    insert into deliveries (target_id, source_id, type, key)
    select w.id, e.id, e.action, delivery_key(e.resource_type, e.resource_id, e.id)
    from new_rows e join webhooks w
      on e.action = any(w.actions) and (w.resource_types is null or e.resource_type = any(w.resource_types))
      -- A webhook is told nothing about itself.
      and not (e.resource_type = 'webhook' and e.resource_id = w.id::text)
    order by e."timestamp", e.id;
  end if;
  return null;
end $$;
