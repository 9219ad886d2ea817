// Inserts accounts of a given age and state directly into the database, because no test can wait 72 hours.
// It must write nothing that the service could not have written.
import { randomUUID } from 'node:crypto';
import { eventually, newEmail, type TestService } from '../harness.ts';

export type AgedAccount = { id: string; email: string };

/**
 * Inserts `count` accounts of this age and returns them. Each has the role User. Unless `state` says otherwise, they
 * registered themselves and are unverified and active.
 */
export async function insertAccounts(
  service: TestService,
  count: number,
  state: {
    ageHours: number;
    registered?: boolean;
    verified?: boolean;
    is_active?: boolean;
    is_superuser?: boolean;
  },
): Promise<AgedAccount[]> {
  const accounts = Array.from({ length: count }, () => ({ id: randomUUID(), email: newEmail('aged') }));
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, verified, is_active, is_superuser, pending_registration, created_at)
       select id, email, 'Ada', 'Lovelace', $3, $4, $5, $7, now() - $6 * interval '1 hour'
       from unnest($1::uuid[], $2::text[]) as given (id, email) returning id)
     insert into user_roles (user_id, role_id)
     select made.id, roles.id from made, roles where roles.name = 'User'`,
    [
      accounts.map(({ id }) => id),
      accounts.map(({ email }) => email),
      state.verified ?? false,
      state.is_active ?? true,
      state.is_superuser ?? false,
      state.ageHours,
      state.registered ?? true,
    ],
  );
  return accounts;
}

/** Returns the ids of those accounts that still exist. */
export async function remaining(service: TestService, accounts: AgedAccount[]): Promise<string[]> {
  const rows = await service.sql<{ id: string }>('select id from users where id = any($1::uuid[])', [
    accounts.map(({ id }) => id),
  ]);
  return rows.map(({ id }) => id);
}

/** Waits until a cleanup run that began after this call has finished, by waiting for an old account to be removed. */
export async function waitForCleanup(service: TestService): Promise<void> {
  const canary = await insertAccounts(service, 1, { ageHours: 100_000 });
  await eventually(
    async () => (await remaining(service, canary)).length === 0 || undefined,
    'a cleanup run to remove an old unverified account',
  );
}
