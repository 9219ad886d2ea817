// People and services whose rights change, their tokens, and writers that change the rights by hand, in SQL.
// It must not look at guards.
import { setTimeout as pause } from 'node:timers/promises';
import { ADMIN, signIn, type TestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import { rounds } from '@castellan/testing/scenario';
import {
  addApiKey,
  addServiceAccount,
  type TestServiceAccount,
} from '@castellan/testing/service-accounts/accounts';
import { clientToken } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole } from '@castellan/testing/users/people';
import pg from 'pg';
import { WRITERS } from './writers.ts';

const PEOPLE = 24;
const ACCOUNTS = 8;
const WRITES_EACH = rounds(6, 20);
/** One transaction in twenty stays open for so long. */
const LONG_MS = 1_500;

export type Rights = {
  /** Names of two permissions, which the tokens have or have not. */
  permissions: string[];
  tokens: string[];
  /** Ids. */
  people: string[];
  roles: string[];
  /** Whose guards follow the feed. */
  product: TestServiceAccount;
};

export const some = <T>(list: readonly T[]): T => {
  const one = list[Math.floor(Math.random() * list.length)];
  if (one === undefined) throw new Error('there is nothing to choose from');
  return one;
};
const flag = (): boolean => Math.random() < 0.5;

type Write = () => [text: string, values: unknown[]];

export type World = Rights & {
  /** Changes rights in 50 connections at once, until each has done its share. Returns how many transactions were committed. */
  write(databaseUrl: string, withGraph: boolean): Promise<number>;
};

/** Makes people and services with tokens, at an instance with CONCURRENT_SESSION_LIMIT 0. */
export async function makeWorld(service: TestService): Promise<World> {
  const product = await addServiceAccount(service, {
    permissions: ['token.introspect', 'access.check', 'access.watch'],
  });
  const admin = await signIn(service, ADMIN);
  const made = [await makePermission(admin), await makePermission(admin)];
  const permissions = made.map(({ name }) => name);
  const roles = [await addRole(service, ...permissions), await addRole(service, permissions[0] ?? '')];
  const people: string[] = [];
  const accounts: { id: string; keyId: string }[] = [];
  const tokens: string[] = [];
  for (let count = 0; count < PEOPLE; count += 1) {
    const person = await addPerson(service, { roles: roles.slice(0, 1 + (count % 2)) });
    people.push(person.id);
    for (let sessions = 0; sessions < 2; sessions += 1)
      tokens.push((await signIn(service, person)).accessToken ?? '');
  }
  for (let count = 0; count < ACCOUNTS; count += 1) {
    const account = await addServiceAccount(service, { roles: [roles[0] ?? ''] });
    accounts.push(account);
    const { key } = await addApiKey(service, account.id, { narrowedTo: [permissions[1] ?? ''] });
    tokens.push(account.key, key, await clientToken(service, account));
  }

  /** Changes of what everybody may do, which drop everything. */
  const graphWrites: Write[] = [
    () => [
      'delete from role_permissions where role_id = $1 and permission_id = $2',
      [some(roles), some(made).id],
    ],
    () => [
      'insert into role_permissions (role_id, permission_id) values ($1, $2) on conflict do nothing',
      [some(roles), some(made).id],
    ],
    () => ['update permissions set required_acr = $2 where id = $1', [some(made).id, flag() ? 'aal2' : null]],
  ];

  /** Gives back what others took, so that not every token has ended after a while. */
  const mending: Write[] = [
    () => [
      'update users set is_active = true, must_change_password = false, session_epoch = 0 where id = any($1)',
      [[some(people), some(people), some(people)]],
    ],
    () => [
      'update sessions set revoked_at = null where user_id = any($1) and revoked_at is not null',
      [[some(people), some(people), some(people)]],
    ],
    () => [
      'update service_accounts set is_active = true, token_epoch = 0 where id = any($1)',
      [[some(accounts).id, some(accounts).id]],
    ],
  ];

  /** With both directions, so that most of it changes something. */
  const writes: Write[] = [
    () => [
      'update sessions set revoked_at = now() where id = (select id from sessions where user_id = $1 and revoked_at is null limit 1)',
      [some(people)],
    ],
    () => [
      `update session_tokens set expires_at = now() where user_id = $1 and kind = 'access' and jti = (select jti from session_tokens where user_id = $1 and kind = 'access' limit 1)`,
      [some(people)],
    ],
    () => [
      `update session_tokens set expires_at = now() + interval '30 minutes' where user_id = $1 and kind = 'access' and expires_at <= now()`,
      [some(people)],
    ],
    () => ['delete from user_roles where user_id = $1 and role_id = $2', [some(people), some(roles)]],
    () => [
      'insert into user_roles (user_id, role_id) values ($1, $2) on conflict do nothing',
      [some(people), some(roles)],
    ],
    () => ['update users set is_active = $2 where id = $1', [some(people), flag()]],
    () => ['update users set must_change_password = $2 where id = $1', [some(people), flag()]],
    () => ['update users set is_superuser = $2 where id = $1', [some(people), flag()]],
    () => ['update users set session_epoch = session_epoch + 1 where id = $1', [some(people)]],
    () => [
      'update api_keys set revoked_at = $2 where id = $1',
      [some(accounts).keyId, flag() ? new Date() : null],
    ],
    () => ['update service_accounts set is_active = $2 where id = $1', [some(accounts).id, flag()]],
    () => ['update service_accounts set token_epoch = token_epoch + 1 where id = $1', [some(accounts).id]],
  ];

  return {
    permissions,
    tokens,
    people,
    roles,
    product,
    async write(databaseUrl, withGraph) {
      const pool = new pg.Pool({ connectionString: databaseUrl, max: WRITERS });
      // At once: a server that goes may end a connection in the message that opens it.
      pool.on('connect', (client) => client.on('error', () => undefined));
      pool.on('error', () => undefined);
      const all = [...writes, ...mending, ...mending, ...(withGraph ? graphWrites : [])];
      try {
        const counts = await Promise.all(Array.from({ length: WRITERS }, () => writeAll(pool, all)));
        return counts.reduce((sum, count) => sum + count, 0);
      } finally {
        await pool.end();
      }
    },
  };
}

const isolations = ['read committed', 'read committed', 'repeatable read', 'serializable'];

/** Writes in transactions of random lengths and isolations, some of which are rolled back. */
async function writeAll(pool: pg.Pool, all: readonly Write[]): Promise<number> {
  let committed = 0;
  for (let count = 0; count < WRITES_EACH; count += 1) {
    // A server that has gone, a deadlock with another writer, or a conflict of snapshots: all of them change nothing, or what
    // the database then says.
    const client = await pool.connect().catch(() => undefined);
    try {
      await client?.query(`begin isolation level ${some(isolations)}`);
      await client?.query(...some(all)());
      await pause(Math.random() < 0.05 ? LONG_MS : Math.random() * 100);
      const isCommitted = Math.random() < 0.9;
      await client?.query(isCommitted ? 'commit' : 'rollback');
      if (client && isCommitted) committed += 1;
    } catch {
      await client?.query('rollback').catch(() => undefined);
    } finally {
      client?.release(true);
    }
    if (!client) await pause(100);
  }
  return committed;
}
