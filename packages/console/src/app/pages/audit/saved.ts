// Filters that this browser remembers for the person under a name.
// Nothing secret belongs here: a filter holds ids and addresses, never a credential.
import { readPreference, writePreference } from '../../../common/preferences.ts';
import { type AuditSearch, filtersIn } from './filter.ts';

export type SavedFilter = { name: string; search: AuditSearch };

const PREFERENCE = 'auditFilters';

const isSaved = (value: unknown): value is SavedFilter =>
  typeof value === 'object' &&
  value !== null &&
  'name' in value &&
  typeof value.name === 'string' &&
  'search' in value &&
  typeof value.search === 'object' &&
  value.search !== null;

/** Returns what is stored; nothing if it was changed by hand into something else. */
export function readSaved(): SavedFilter[] {
  try {
    const stored: unknown = JSON.parse(readPreference(PREFERENCE) ?? '[]');
    return Array.isArray(stored)
      ? stored.filter(isSaved).map(({ name, search }) => ({ name, search: filtersIn(search) }))
      : [];
  } catch {
    return [];
  }
}

export const writeSaved = (saved: readonly SavedFilter[]): void =>
  writePreference(PREFERENCE, saved.length === 0 ? null : JSON.stringify(saved));
