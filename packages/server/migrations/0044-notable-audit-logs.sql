-- Phase: expand
-- Reading the audit log, and what happened to one record, without the routine entries, which may be nearly all of it. The
-- predicates leave out the routine actions of packages/contract/src/audit.ts. Their order has nulls last, unlike that of the
-- other indexes, so that a statement with this order can use no other one. Operators may create both concurrently before.
create index if not exists audit_logs_notable_timestamp_id_idx
  on audit_logs ("timestamp" desc nulls last, id desc nulls last)
  where action <> all ('{session_refreshed,client_token_issued}');
create index if not exists audit_logs_notable_resource_id_timestamp_id_idx
  on audit_logs (resource_id, "timestamp" desc nulls last, id desc nulls last)
  where action <> all ('{session_refreshed,client_token_issued}');
