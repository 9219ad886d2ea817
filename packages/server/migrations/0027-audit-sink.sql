-- Phase: expand
-- Sending the audit log to a system outside. A queue and not a cursor: docs/decisions/0017-audit-sink.md.

-- While there is a row, new entries are queued. The first instance with AUDIT_SINK creates it.
create table audit_sink (
  only_row boolean constraint audit_sink_only_row_pkey primary key default true,
  -- The instance that sends, until its lease ends.
  sender uuid,
  locked_until timestamptz,
  seen_at timestamptz not null default now(),
  constraint audit_sink_only_row_check check (only_row)
);

-- Entries that the sink has not accepted yet. An entry stays in audit_logs, whatever happens here.
create table audit_outbox (
  position bigint generated always as identity constraint audit_outbox_position_pkey primary key,
  entry_id uuid not null
);

create function queue_audit_entries() returns trigger language plpgsql as $$
begin
  if exists (select from audit_sink) then
    insert into audit_outbox (entry_id) select id from new_rows order by "timestamp", id;
  end if;
  return null;
end $$;
create trigger audit_logs_queue_entries after insert on audit_logs
  referencing new table as new_rows for each statement execute function queue_audit_entries();
