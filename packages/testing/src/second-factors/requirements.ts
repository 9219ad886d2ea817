// Requires proofs of accounts and permissions directly in the database, and makes users who have proved more than a password.
// It must not replace the operations that set requirements, which have tests of their own.
import type { TestService } from '../harness.ts';
import { addRole } from '../users/people.ts';
import { type AppUser, addAppUser } from './app.ts';

/** A role requires the level of its holders, from a time on (SQL; default: now). */
export const requireOfRole = (
  service: Pick<TestService, 'sql'>,
  roleId: string,
  acr: 'aal2' | 'phr' | null,
  from = 'now()',
): Promise<unknown> =>
  service.sql(
    `update roles set required_acr = $2, enforced_from = case when $2::text is not null then ${from} end where id = $1`,
    [roleId, acr],
  );

/** A permission requires the level, at most so many seconds old. */
export const requireOfPermission = (
  service: Pick<TestService, 'sql'>,
  name: string,
  acr: 'aal1' | 'aal2' | 'phr' | null,
  maxAge: number | null = null,
): Promise<unknown> =>
  service.sql('update permissions set required_acr = $2, max_auth_age = $3 where name = $1', [
    name,
    acr,
    maxAge,
  ]);

/** Returns a user with an app, signed in with it, and with a role of these permissions. */
export async function addStrong(
  service: TestService,
  ...permissions: string[]
): Promise<AppUser & { role: string }> {
  const user = await addAppUser(service);
  const role = await addRole(service, ...permissions);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role]);
  return { ...user, role };
}

/** Makes every proof of the user older by so many seconds. */
export const ageProofs = (
  service: Pick<TestService, 'sql'>,
  { id }: { id: string },
  seconds: number,
): Promise<unknown> =>
  Promise.all([
    service.sql(
      'update session_tokens set auth_time = auth_time - make_interval(secs => $2) where user_id = $1',
      [id, seconds],
    ),
    service.sql(
      'update sessions set created_at = created_at - make_interval(secs => $2) where user_id = $1',
      [id, seconds],
    ),
  ]);
