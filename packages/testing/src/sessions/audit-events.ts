// Reads what the service wrote to its audit log.
// It must not wait: entries are written before the answer, and the tests rely on that.
import type { TestService } from '../harness.ts';

export type AuditEntry = {
  actor_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  details: Record<string, unknown>;
};

/** Returns the entries of one action about one user or email, oldest first. */
export function eventsOf(
  service: TestService,
  action: string,
  about: { id: string } | { email: string },
): Promise<AuditEntry[]> {
  const [condition, value] =
    'id' in about ? ['resource_id = $2', about.id] : ["details->>'email' = $2", about.email];
  return service.sql<AuditEntry>(
    `select actor_id, action, resource_type, resource_id, details from audit_logs
     where action = $1 and ${condition} order by "timestamp", id`,
    [action, value],
  );
}
