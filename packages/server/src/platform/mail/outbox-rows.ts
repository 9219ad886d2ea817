// The statements with which workers share the rows of the outbox.
// It must not run them: the worker decides how to handle failures of the database.
import { isLeaseFree } from '../delivery/lease.ts';

export type Statement = { name: string; text: string; values: unknown[] };
export type OutboxRow = { id: string; kind: string; payload: unknown; attempts: number };

/** The longest wait for the next attempt. */
export const maxDelaySeconds = 15 * 60;

// The lease hides a row from other workers until it ends. The number of the attempt identifies it.
const claimSql = `
with due as materialized (
  select id from outbox
  where sent_at is null and failed_at is null and run_at <= now()
    and ${isLeaseFree('locked_until', '$2::float8')}
  order by run_at limit $1::integer for update skip locked
)
update outbox set locked_until = now() + $2::float8 * interval '1 second', attempts = attempts + 1
from due where outbox.id = due.id
returning outbox.id, kind, payload, attempts`;

export const claimStatement = (count: number, leaseSeconds: number): Statement => ({
  name: 'outbox_claim',
  text: claimSql,
  values: [count, leaseSeconds],
});

const ownLease = 'id = $1 and attempts = $2 and sent_at is null and failed_at is null';

/** Statements that record how an attempt ended. `reason` must not contain a secret. */
export const outcome = {
  // Regardless of who holds the lease now: the mail was sent.
  sent: ({ id }: OutboxRow) => ({
    name: 'outbox_sent',
    text: `update outbox set sent_at = now(), failed_at = null, locked_until = null, last_error = null
      where id = $1 and sent_at is null`,
    values: [id],
  }),
  dropped: ({ id, attempts }: OutboxRow) => ({
    name: 'outbox_drop',
    text: `delete from outbox where ${ownLease}`,
    values: [id, attempts],
  }),
  retry: ({ id, attempts }: OutboxRow, reason: string, afterSeconds: number) => ({
    name: 'outbox_retry',
    text: `update outbox set locked_until = null, last_error = $3,
      run_at = now() + $4::float8 * interval '1 second' where ${ownLease}`,
    values: [id, attempts, reason, afterSeconds],
  }),
  failed: ({ id, attempts }: OutboxRow, reason: string) => ({
    name: 'outbox_failed',
    text: `update outbox set failed_at = now(), locked_until = null, last_error = $3 where ${ownLease}`,
    values: [id, attempts, reason],
  }),
} satisfies Record<string, (row: OutboxRow, reason: string, afterSeconds: number) => Statement>;

const deleteSql = `
delete from outbox where id = any(array(
  select id from outbox
  where (sent_at is not null or failed_at is not null)
    and coalesce(sent_at, failed_at) < now() - $1::float8 * interval '1 day'
  order by coalesce(sent_at, failed_at) limit $2::integer for update skip locked))`;

export const deleteStatement = (olderThanDays: number, count: number): Statement => ({
  name: 'outbox_delete_old',
  text: deleteSql,
  values: [olderThanDays, count],
});

// Longer than any backoff: such a time was set while the clock was ahead.
const healSql = `
update outbox set run_at = now()
where sent_at is null and failed_at is null and run_at > now() + 2 * $1::float8 * interval '1 second'`;

/** Makes mails due whose next attempt is later than any backoff allows. */
export const healStatement = (): Statement => ({
  name: 'outbox_heal',
  text: healSql,
  values: [maxDelaySeconds],
});
