-- Phase: expand
-- What waits to be delivered to a target outside, in order per key. One instance at a time holds a target.

create table delivery_targets (
  id uuid constraint delivery_targets_id_pkey primary key,
  kind text not null constraint delivery_targets_kind_check check (kind in ('webhook')),
  -- Deliveries under way at once.
  parallel integer not null,
  -- The instance that delivers, until its lease ends.
  holder uuid,
  locked_until timestamptz,
  -- Nothing is delivered while this is set.
  paused_at timestamptz,
  paused_reason text,
  -- The target waits as one until then, and gets a single delivery as a probe.
  next_at timestamptz,
  -- Failed attempts since the last success, and when they began.
  failures integer not null default 0,
  failing_since timestamptz,
  last_success_at timestamptz,
  created_at timestamptz not null default now()
) with (fillfactor = 50);

create table deliveries (
  id bigint generated always as identity constraint deliveries_id_pkey primary key,
  -- No reference: a target with a million of them is deleted at once, and the clean-up deletes them.
  target_id uuid not null,
  -- Names what is delivered: it is read there at each attempt, unless it is in content.
  source_id uuid not null,
  type text not null,
  -- What is delivered, if it has no source.
  content jsonb,
  -- Deliveries with the same key follow each other by id. Changes of one record take their ids under its lock.
  key bigint not null,
  -- Null: it is delivered for the first time.
  replay_id uuid,
  state text not null default 'waiting' constraint deliveries_state_check check (state in ('waiting', 'sent', 'dead')),
  attempts integer not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  -- Of the first attempt.
  tried_since timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz
) with (fillfactor = 80);
create index deliveries_waiting_idx on deliveries (target_id, id) where state = 'waiting';
create index deliveries_waiting_retried_idx on deliveries (target_id) where state = 'waiting' and attempts > 0;
create index deliveries_waiting_replayed_idx on deliveries (target_id) where state = 'waiting' and replay_id is not null;
create index deliveries_dead_idx on deliveries (target_id, id) where state = 'dead';
create index deliveries_target_id_id_idx on deliveries (target_id, id);

create table delivery_attempts (
  delivery_id bigint not null
    constraint delivery_attempts_delivery_id_fkey references deliveries (id) on delete cascade,
  at timestamptz not null default clock_timestamp(),
  -- The HTTP status; null: there was no answer.
  status integer,
  -- Why the attempt failed; null: it did not.
  cause text,
  ms integer not null
);
create index delivery_attempts_delivery_id_idx on delivery_attempts (delivery_id);
