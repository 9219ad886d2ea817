// Shows the emails of an audit entry as people read them. It must not change what is stored.
import type { AuditLogEntry } from '@castellan/contract/audit';
import { shownEmail } from '../../platform/security/email.ts';
import type { EntryJson } from './entry-json.ts';

/** Fields that hold an email. The name of a user is their email. */
const fields: ReadonlySet<string> = new Set(['actor_email', 'resource_name', 'email']);
/** Objects of `details` that hold such fields. */
const records: ReadonlySet<string> = new Set(['details', 'before', 'after']);

/** Returns the entry with the letters of internationalized domains. */
export const shownEntry = ({ acted_by_id, ...entry }: EntryJson): AuditLogEntry => ({
  ...entry,
  ...shown({ ...entry }),
  ...(acted_by_id === null ? {} : { acted_by_id }),
});

function shown(record: Record<string, unknown>): Record<string, unknown> {
  const changed: Record<string, unknown> = { ...record };
  for (const [name, value] of Object.entries(record)) {
    if (fields.has(name) && typeof value === 'string') changed[name] = shownEmail(value);
    else if (records.has(name) && typeof value === 'object' && value !== null)
      changed[name] = shown({ ...value });
  }
  return changed;
}
