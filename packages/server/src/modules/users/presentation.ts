// Converts a user row to the record in the API. It contains only the columns in `userFields` of the contract.
import type { User } from '@castellan/contract/users';
import { type UserRow, userFieldNames } from '../../schema/user-record.ts';
import { permissionsOf, rolesOf } from '../authz/effective.ts';
import type { Graph } from '../authz/graph.ts';

export type UserRecord = Readonly<Omit<UserRow, 'version' | 'authz_stamp'>>;

/** Includes the version for the ETag, and the stamp of the role → permission graph in the same snapshot. */
export type VersionedUser = UserRow;

/** Times are ISO 8601 strings. */
type Shown<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] };

type Fields = Shown<Pick<UserRow, (typeof userFieldNames)[number]>>;

// By row: the token lookup returns the same immutable object while nothing in the row has changed. Converting and
// serializing the record again took 3 µs of each `GET /users/me`.
// The stamp stands for the graph: texts of users who come rarely must not keep old graphs in memory.
const texts = new WeakMap<object, { stamp: string; text: string }>();
// Larger ones, such as a superuser's with thousands of permissions, are not kept: memory has a bound (row-memo.ts).
const MAX_KEPT_LENGTH = 4_096;

/** Returns what `write` makes of the record, and keeps it for the next call with the same row and the same graph. */
export function userText(record: UserRecord, graph: Graph, write: (user: User) => string): string {
  const kept = texts.get(record);
  if (kept?.stamp === graph.stamp) return kept.text;
  const text = write(toUser(record, graph));
  if (text.length <= MAX_KEPT_LENGTH) texts.set(record, { stamp: graph.stamp, text });
  return text;
}

export function toUser(record: UserRecord, graph: Graph): User {
  const fields: Record<string, unknown> = {};
  for (const name of userFieldNames) {
    const value = record[name];
    fields[name] = value instanceof Date ? value.toISOString() : value;
  }
  // The loop has set every field, which the compiler cannot follow.
  const { created_at, updated_at, ...own } = fields as Fields;
  return {
    id: record.user_id,
    ...own,
    roles: rolesOf(graph, record).map(({ id, name, description }) => ({ id, name, description })),
    permissions: [...permissionsOf(graph, record)],
    created_at,
    updated_at,
  };
}
