// Reads what the service recorded: the audit log, its log lines and all its tables.
// It must not write.
import assert from 'node:assert/strict';
import type { TestService } from '../harness.ts';

export type AuditEntry = {
  actor_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  details: Record<string, unknown>;
};

/** Returns the audit entries that name this email, oldest first. */
export const entriesAbout = (service: TestService, email: string): Promise<AuditEntry[]> =>
  service.sql<AuditEntry>(
    `select actor_id, action, resource_type, resource_id, details from audit_logs
     where details->>'email' = $1 order by "timestamp", id`,
    [email],
  );

/** Returns the only audit entry of this action for the request, found by the `X-Request-ID` of its response. */
export async function entryOf(service: TestService, headers: Headers, action: string): Promise<AuditEntry> {
  const entries = await service.sql<AuditEntry>(
    `select actor_id, action, resource_type, resource_id, details from audit_logs
     where details->>'request_id' = $1 and action = $2`,
    [headers.get('x-request-id'), action],
  );
  assert.equal(entries.length, 1, `${action} is written once, before the answer`);
  assert.equal(entries[0]!.resource_type, 'security_event');
  assert.equal(entries[0]!.details.address, '127.0.0.1');
  return entries[0]!;
}

/** Asserts that none of the secrets is in a log line or in any table, neither as text nor as bytes in hexadecimal. */
export async function assertNoPlaintext(service: TestService, secrets: string[]): Promise<void> {
  const tables = await service.sql<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
  );
  const places: [string, string][] = [['the log', service.logLines.join('\n')]];
  for (const { name } of tables) {
    const rows = await service.sql<{ row: string }>(`select t::text as row from ${name} t`);
    places.push([`table ${name}`, rows.map(({ row }) => row).join('\n')]);
  }
  assert.ok(places.length > 10 && service.logLines.length > 0, 'there are tables and log lines to search');
  for (const [place, text] of places)
    for (const secret of secrets) {
      assert.ok(secret.length > 7, 'a secret is long enough to be recognised');
      assert.ok(!text.includes(secret), `${place} contains a secret as plain text`);
      const hex = Buffer.from(secret).toString('hex');
      assert.ok(!text.includes(hex), `${place} contains the bytes of a secret`);
    }
}
