// Settings: how long entries are kept, and where they are sent.
import { parseSinkAddress, parseSinkSecret } from '../modules/audit/sinks/address.ts';
import { list, number, optional, setting } from '../platform/config/config.ts';

export const auditSettings = {
  auditRetentionDays: setting(
    'AUDIT_RETENTION_DAYS',
    number(0, 36_500),
    'Age at which audit entries are removed, in days. 0 keeps them.',
    { default: '0' },
  ),
  auditSink: setting(
    'AUDIT_SINK',
    optional(parseSinkAddress),
    'Where audit entries are also sent: `stdout`, `syslog+tls://host:6514` or `https://…`. See docs/administer/audit-sinks.md.',
    { shown: 'none', secret: 'path' },
  ),
  auditSinkSecret: setting(
    'AUDIT_SINK_SECRET',
    list(parseSinkSecret),
    'Signs what an `https` sink gets: `whsec_` and 32 bytes or more in base64. Two of them, comma-separated, while the receiver changes to the first.',
    { default: '', shown: 'none', secret: 'value' },
  ),
};
