// What every user and service account holds, computed the slow and obvious way, and what changed between two moments.
// It must not share code with the service: the tests compare the service with it.
import assert from 'node:assert/strict';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';

/** `held` is what the subject would hold if it were active. */
type Holdings = { type: string; id: string; name: string; active: boolean; held: Set<string> };
export type Snapshot = ReadonlyMap<string, Holdings>;

/** Reads what everybody holds. */
export async function holdingsOf(service: TestService): Promise<Snapshot> {
  const permissions = await service.sql<{ id: string; name: string }>('select id, name from permissions');
  const nameOf = new Map(permissions.map(({ id, name }) => [id, name]));
  const granted = await service.sql<{ role_id: string; permission_id: string }>(
    'select role_id, permission_id from role_permissions',
  );
  const links = await service.sql<{ subject: string; role_id: string }>(
    `select user_id as subject, role_id from user_roles
     union all select service_account_id, role_id from service_account_roles`,
  );
  const users = await service.sql<{
    id: string;
    first: string;
    last: string;
    active: boolean;
    superuser: boolean;
  }>(
    'select id, first_name as first, last_name as last, is_active as active, is_superuser as superuser from users',
  );
  const accounts = await service.sql<{ id: string; name: string; active: boolean }>(
    'select id, name, is_active as active from service_accounts',
  );
  const linksOf = Map.groupBy(links, ({ subject }) => subject);
  const grantedBy = Map.groupBy(granted, ({ role_id }) => role_id);
  const heldBy = (id: string): Set<string> =>
    new Set(
      (linksOf.get(id) ?? [])
        .flatMap(({ role_id }) => grantedBy.get(role_id) ?? [])
        .map(({ permission_id }) => nameOf.get(permission_id) ?? ''),
    );
  return new Map([
    ...users.map(({ id, first, last, active, superuser }): [string, Holdings] => [
      id,
      {
        type: 'user',
        id,
        name: `${first} ${last}`.trimEnd(),
        active,
        held: superuser ? new Set(nameOf.values()) : heldBy(id),
      },
    ]),
    ...accounts.map(({ id, name, active }): [string, Holdings] => [
      id,
      { type: 'service_account', id, name, active, held: heldBy(id) },
    ]),
  ]);
}

const minus = (one: Set<string>, two: Set<string>): string[] =>
  [...one].filter((name) => !two.has(name)).sort();

/** Returns the impact of what happened between the two moments. */
export function impactBetween(before: Snapshot, after: Snapshot) {
  const nothing = new Set<string>();
  const compared = [...before.values()].map((was) => {
    const will = after.get(was.id) ?? { ...was, held: nothing };
    const isInactive = !was.active && !will.active;
    const [from, to] = isInactive
      ? [was.held, will.held]
      : [was.active ? was.held : nothing, will.active ? will.held : nothing];
    const { type, id, name } = was;
    return { isInactive, subject: { type, id, name, gained: minus(to, from), lost: minus(from, to) } };
  });
  const affected = compared.filter(({ subject }) => subject.gained.length + subject.lost.length > 0);
  const subjects = affected.filter(({ isInactive }) => !isInactive).map(({ subject }) => subject);
  const key = (one: { type: string; id: string; name: string }): string =>
    `${one.name.toLowerCase()}\0${one.type}\0${one.id}`;
  subjects.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const counts = (which: 'gained' | 'lost') => {
    const names = [...new Set(subjects.flatMap((one) => one[which]))].sort();
    return names.map((permission) => ({
      permission,
      subjects: subjects.filter((one) => one[which].includes(permission)).length,
    }));
  };
  return {
    gaining: subjects.filter(({ gained }) => gained.length > 0).length,
    losing: subjects.filter(({ lost }) => lost.length > 0).length,
    gained: counts('gained'),
    lost: counts('lost'),
    subjects: subjects.slice(0, 100),
    more: Math.max(0, subjects.length - 100),
    inactive: affected.filter(({ isInactive }) => isInactive).length,
  };
}

export type Call = { method: string; path: string; json?: unknown; headers?: Record<string, string> };

export const send = (client: TestClient, { method, path, json, headers = {} }: Call): Promise<Answer> =>
  client.request(method, `/api/v1${path}`, { ...(json === undefined ? {} : { json }), headers });

/** Sends the call with `dry_run=true`. */
export const preview = (client: TestClient, call: Call): Promise<Answer> =>
  send(client, { ...call, path: `${call.path}${call.path.includes('?') ? '&' : '?'}dry_run=true` });

/**
 * Everything that a preview must leave as it is, in one value that can be compared. A change that ends sessions raises the
 * epoch of their user; the rows are left out, because a job deletes them.
 */
export const stateOf = (service: TestService): Promise<unknown[]> =>
  Promise.all([
    service.sql(
      'select id, version, email, first_name, is_active, is_superuser, verified, updated_at, password_hash, password_epoch, session_epoch, link_epoch from users order by id',
    ),
    service.sql('select id, version, name, description, role_group_id, updated_at from roles order by id'),
    service.sql(
      'select id, version, name, is_active, updated_at, token_epoch from service_accounts order by id',
    ),
    service.sql('select role_id, permission_id from role_permissions order by 1, 2'),
    service.sql('select user_id, role_id from user_roles order by 1, 2'),
    service.sql('select service_account_id, role_id from service_account_roles order by 1, 2'),
    service.sql('select version, stamp from authz_version'),
    service.sql('select count(*) from outbox'),
    service.sql('select count(*) from idempotency_keys'),
  ]);

/** Returns the impact that the preview of a call tells, after comparing it with what the call then does. */
export async function impactOf(service: TestService, client: TestClient, call: Call): Promise<Body> {
  const before = await holdingsOf(service);
  const state = await stateOf(service);
  const previewed = await preview(client, call);
  assert.equal(previewed.status, 200, previewed.text);
  assert.deepEqual(await stateOf(service), state, 'the preview changed something');
  const { data, message } = previewed.body;
  assert.deepEqual([data.dry_run, data.would_be_refused], [true, null], previewed.text);
  assert.match(message, /^Nothing was changed/);
  const changed = await send(client, call);
  assert.ok(changed.status < 300, changed.text);
  assert.deepEqual(data.impact, impactBetween(before, await holdingsOf(service)));
  return data.impact;
}
