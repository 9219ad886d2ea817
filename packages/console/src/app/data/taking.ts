// Whether the person may take permissions away: only those that they hold, as the service judges it.
import type { EffectivePermission } from '@castellan/sdk';
import type { Messages } from '../messages/en/index.ts';
import type { Me } from './me.tsx';

const NAMED = 3;

/** Returns why these permissions cannot be taken away; null if they can. */
export function reasonNotToTake(
  { can }: Pick<Me, 'can'>,
  names: readonly string[],
  { list, forbidden }: Messages['common'],
): string | null {
  const lacking = names.filter((name) => !can(name));
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
