// The console's list for a list of the API, with the same filters.
import type { AttentionFilter } from '@castellan/sdk';

const lists = ['/users', '/roles', '/permissions'] as const;

/** Returns where a link leads. The pages name these filters as the API does. */
export function targetOf({ resource, query }: Pick<AttentionFilter, 'resource' | 'query'>): {
  to: (typeof lists)[number];
  search: Record<string, string>;
} {
  return {
    to: lists.find((list) => resource.endsWith(list)) ?? '/users',
    search: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
  };
}
