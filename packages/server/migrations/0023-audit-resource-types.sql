-- Reading the audit log by the type of the affected record. Nearly all entries are security events, which the index leaves
-- out: it costs nothing where entries are many, and finds the others.
create index audit_logs_resource_type_timestamp_id_idx on audit_logs (resource_type, "timestamp" desc, id desc)
  where resource_type <> 'security_event';
