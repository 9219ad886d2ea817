// Converts a user row to the record in the API. It contains only the columns in `userFields` of the contract.
import { hash } from 'node:crypto';
import { allPermissions } from '@castellan/contract/permissions';
import type { User } from '@castellan/contract/users';
import { shownEmail } from '../../platform/security/email.ts';
import { type UserRow, userFieldNames } from '../../schema/user-record.ts';
import { permissionsOf, rolesOf } from '../authz/effective.ts';
import type { Graph } from '../authz/graph/graph.ts';
import { everywhere } from '../authz/scope.ts';

export type UserRecord = Readonly<Omit<UserRow, 'version' | 'authz_stamp'>>;

/** Includes the version for the ETag, and the stamp of the role → permission graph in the same snapshot. */
export type VersionedUser = UserRow;

/** Times are ISO 8601 strings. */
type Shown<T> = { [K in keyof T]: Date extends T[K] ? string | Exclude<T[K], Date> : T[K] };

type Fields = Shown<Pick<UserRow, (typeof userFieldNames)[number]>>;

/** Whether a user's record lists all their permissions, or only those that the service itself checks. */
export type PermissionView = 'all' | 'builtin';

/** A serialized record. The text is computed when it is sent. */
export type UserText = { tag: string; text: () => string };

// By row: the token lookup returns the same immutable object while nothing in the row has changed. Converting and
// serializing the record again took 3 µs of each `GET /users/me`.
// The key is the stamp, not the graph: texts of users who rarely send requests must not keep old graphs in memory.
const keptTexts: Record<
  PermissionView,
  WeakMap<object, { stamp: string; text: string | null; tag: string }>
> = {
  all: new WeakMap(),
  builtin: new WeakMap(),
};
// For larger texts, such as that of a superuser with thousands of permissions, only the tag is kept, which bounds the memory
// (row-memo.ts).
const MAX_KEPT_LENGTH = 4_096;
const TAG_LENGTH = 22;

/**
 * Returns what `write` makes of the record, with a tag that changes when the text does. Both are kept for the next call with
 * the same row and the same graph.
 */
export function userText(
  record: UserRecord,
  graph: Graph,
  view: PermissionView,
  write: (user: User) => string,
): UserText {
  const texts = keptTexts[view];
  const kept = texts.get(record);
  const compute = (): string => write(toUser(record, graph, view));
  if (kept?.stamp === graph.stamp) return { tag: kept.tag, text: () => kept.text ?? compute() };
  const text = compute();
  const tag = hash('sha256', text, 'base64url').slice(0, TAG_LENGTH);
  texts.set(record, { stamp: graph.stamp, text: text.length <= MAX_KEPT_LENGTH ? text : null, tag });
  return { tag, text: () => text };
}

const builtIn: ReadonlySet<string> = new Set(allPermissions);

export function toUser(record: UserRecord, graph: Graph, view: PermissionView = 'all'): User {
  const permissions = permissionsOf(graph, everywhere(record));
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
    email: shownEmail(own.email),
    roles: rolesOf(graph, record).map(({ id, name, description }) => ({ id, name, description })),
    permissions:
      view === 'all' ? [...permissions] : permissions.filter((name) => builtIn.has(name.toLowerCase())),
    created_at,
    updated_at,
  };
}
