// The filters of the audit log between the address, where all are texts, and the service.

import type { AuditFilter } from '../../data/audit/audit.ts';
import type { AuditAction } from '../../data/audit/entries.ts';

/** The filters as they are in the address. `from` and `to` are days, such as 2026-11-03, both inclusive. */
export type AuditSearch = {
  actor?: string | undefined;
  /** Who acted as the actor. */
  acted_by?: string | undefined;
  target?: string | undefined;
  action?: string | undefined;
  type?: string | undefined;
  address?: string | undefined;
  result?: 'success' | 'failure' | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

export const filterNames = [
  'actor',
  'acted_by',
  'target',
  'action',
  'type',
  'address',
  'result',
  'from',
  'to',
] as const;
export type FilterName = (typeof filterNames)[number];

/** Returns only the filters, without an open entry. */
export const filtersIn = (search: AuditSearch): AuditSearch =>
  Object.fromEntries(filterNames.flatMap((name) => (search[name] ? [[name, search[name]]] : [])));

export const isFiltered = (search: AuditSearch): boolean => filterNames.some((name) => search[name]);

/** Leaves out an action that no entry can have, so that no link breaks the page or claims a filter that is not applied. */
export const withKnownAction = <S extends AuditSearch>(search: S, actions: readonly string[]): S =>
  search.action === undefined || actions.includes(search.action) ? search : { ...search, action: undefined };

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Returns the moment at which a day begins, `plus` days later; undefined if it is no day. */
export function startOfDay(day: string | undefined, zone: 'local' | 'utc', plus = 0): string | undefined {
  if (!day || !DAY.test(day)) return undefined;
  const at = new Date(zone === 'utc' ? `${day}T00:00:00Z` : `${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  // By the calendar, because a day may have 23 or 25 hours.
  if (zone === 'utc') at.setUTCDate(at.getUTCDate() + plus);
  else at.setDate(at.getDate() + plus);
  return at.toISOString();
}

/** Returns what to ask the service for. */
export function toFilter(
  search: AuditSearch,
  actions: readonly AuditAction[],
  zone: 'local' | 'utc',
): AuditFilter {
  const action = actions.find((one) => one === search.action);
  const from = startOfDay(search.from, zone);
  const to = startOfDay(search.to, zone, 1);
  return {
    ...(search.actor ? { actor_id: search.actor } : {}),
    ...(search.acted_by ? { acted_by_id: search.acted_by } : {}),
    ...(search.target ? { resource_id: search.target } : {}),
    ...(search.type ? { resource_type: search.type } : {}),
    ...(search.address ? { address: search.address } : {}),
    ...(search.result ? { result: search.result } : {}),
    ...(action ? { action: [action] } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
  };
}
