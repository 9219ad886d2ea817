-- Rate limits, the timetable of the periodic jobs, and the mails that wait to be sent.
-- Nothing here refers to an account: these tables serve the platform, whatever the service is about.

-- Unlogged: one write a request without WAL. A crash of PostgreSQL empties it, so that every window starts anew;
-- locks after failed logins are kept elsewhere, in a logged table.
-- Half-filled pages keep the counting of a busy key on its page, without touching an index.
create unlogged table rate_limits (
  key text constraint rate_limits_key_pkey primary key,
  hits integer not null,
  reset_at timestamptz not null
) with (fillfactor = 50);
create index rate_limits_reset_at_idx on rate_limits (reset_at);

-- One row a job. Whoever moves next_at forward runs the slot.
create table job_schedule (
  name text constraint job_schedule_name_pkey primary key,
  next_at timestamptz not null
);

-- A mail is a row of the transaction that causes it. The payload names what to write, never a secret: tokens are
-- made when the mail is written. The id is random because it becomes the Message-ID, by which receivers tell doubles.
create table outbox (
  id uuid constraint outbox_id_pkey primary key default gen_random_uuid(),
  kind text not null,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  run_at timestamptz not null default now(),
  attempts integer not null default 0,
  locked_until timestamptz,
  last_error text,
  sent_at timestamptz,
  failed_at timestamptz,
  constraint outbox_sent_at_failed_at_check check (sent_at is null or failed_at is null)
);
create index outbox_due_idx on outbox (run_at) where sent_at is null and failed_at is null;
create index outbox_finished_idx on outbox (coalesce(sent_at, failed_at)) where sent_at is not null or failed_at is not null;
