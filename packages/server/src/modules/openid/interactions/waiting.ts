// The columns of a request that waits, and when it does. It must not contain a whole statement.
import type { Row } from '../../../schema/database.ts';

/** A request that is live and not used up. */
export type WaitingRequest = Pick<
  Row<'application_requests'>,
  'application_id' | 'created_at' | 'expires_at'
> & {
  parameters: Record<string, unknown>;
  state: Record<string, unknown>;
};

/** Columns of a `WaitingRequest`, of `application_requests q`. */
export const requestColumns = 'q.application_id, q.parameters, q.state, q.created_at, q.expires_at';

/** SQL condition: the request can still be answered. */
export const isWaiting = '(q.used_at is null and q.expires_at > clock_timestamp())';
