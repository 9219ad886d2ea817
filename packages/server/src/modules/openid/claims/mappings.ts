// The claims that an application has mappings for. It has no side effects.
import type { ClaimMapping } from '@castellan/contract/application-claims';
import { permissionsOf, rolesOf } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { everywhere } from '../../authz/scope.ts';
import type { ClaimedAccount } from './account-columns.ts';

const sources: Record<ClaimMapping['from'], (account: ClaimedAccount, graph: Graph) => readonly string[]> = {
  role: (account, graph) => rolesOf(graph, account).map(({ name }) => name),
  role_group: ({ group_names }) => sorted(group_names),
  permission: (account, graph) => permissionsOf(graph, everywhere(account)),
  role_or_group: (account, graph) => sorted([...sources.role(account, graph), ...account.group_names]),
  superuser: ({ is_superuser }) => (is_superuser ? ['superuser'] : []),
};

const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();
const fold = (name: string): string => name.normalize('NFC').toLowerCase();

/** Returns the value of a claim; undefined if there is none. */
export function mappedValue(
  { from, match, map, as }: ClaimMapping,
  account: ClaimedAccount,
  graph: Graph,
): string | string[] | boolean | undefined {
  const all = sources[from](account, graph);
  const matching = match === undefined ? all : all.filter((name) => isLike(fold(name), fold(match)));
  const values = map === undefined ? [...matching] : valuesIn(map, matching);
  if (as === 'boolean') return values.length > 0;
  if (as === 'list') return values;
  return as === 'first' ? values[0] : values.join(' ') || undefined;
}

/** Returns what the map tells for these names, in its order, each value once. */
function valuesIn(map: Readonly<Record<string, string>>, names: readonly string[]): string[] {
  const held = new Set(names.map(fold));
  return [...new Set(Object.entries(map).flatMap(([name, value]) => (held.has(fold(name)) ? [value] : [])))];
}

/** Returns whether the text matches a pattern of `*` and `?`. It takes at most the product of both lengths. */
export function isLike(text: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let afterStar = 0;
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next;
      next += 1;
      afterStar = at;
    } else if (pattern[next] === '?' || pattern[next] === text[at]) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      // The last star takes one character more.
      afterStar += 1;
      at = afterStar;
      next = star + 1;
    } else return false;
  }
  while (pattern[next] === '*') next += 1;
  return next === pattern.length;
}
