// Whether the person may take permissions away: only those that they hold, as the service judges it.
import type { EffectivePermission } from '@castellan/sdk';
import type { Messages } from '../../messages/en/index.ts';

const NAMED = 3;

/**
 * Returns why these permissions cannot be taken away; null if they can, or if the service must judge. `own`: the permissions of
 * the person; null if they hold every one, or it is not known.
 */
export function reasonNotToTake(
  own: ReadonlySet<string> | null,
  names: readonly string[],
  { list, forbidden }: Messages['common'],
): string | null {
  const lacking = own === null ? [] : names.filter((name) => !own.has(name));
  if (lacking.length === 0) return null;
  const others = lacking.length - NAMED;
  const shown = [...lacking.slice(0, NAMED), ...(others > 0 ? [list.more(others)] : [])];
  return forbidden.taking(shown.join(', '));
}

/** Returns the names of the permissions that go with a role, because nothing else grants them. */
export const lostWith = (roleId: string, permissions: readonly EffectivePermission[]): string[] =>
  permissions
    .filter(({ superuser, sources }) => !superuser && sources.every(({ role }) => role.id === roleId))
    .map(({ name }) => name);
