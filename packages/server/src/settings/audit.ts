// Settings: how long entries are kept, and where they are sent.
import { parseSinkAddress, parseSinkSecret } from '../modules/audit/sinks/address.ts';
import { flag, integer, list, number, optional, setting, text } from '../platform/config/config.ts';

export const auditSettings = {
  auditRetentionDays: setting(
    'AUDIT_RETENTION_DAYS',
    number(0, 36_500),
    'Age at which audit entries are removed, in days. 0 keeps them.',
    { default: '0' },
  ),
  auditSealing: setting(
    'AUDIT_SEALING',
    flag,
    'Seals the audit log, so that a later change of an entry shows. See docs/operate/sealed-audit-log.md.',
    { default: 'true' },
  ),
  auditHeadsFile: setting(
    'AUDIT_HEADS_FILE',
    optional(text),
    'File to which signed heads of the audit log are appended, at most one a minute. Keep a copy where those who operate the database cannot change it.',
    { shown: '`DATA_DIR/audit-heads.txt`' },
  ),
  webhookHours: setting(
    'WEBHOOK_HOURS',
    integer(1, 720),
    'How long Castellan tries to deliver an event to a webhook, in hours from the first attempt.',
    { default: '72' },
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
