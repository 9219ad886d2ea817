// The filters in force, each with a button that removes it.

import { IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { currentZone, formatDay } from '../../../common/format.ts';
import { ReadErrors } from '../../components/page/states.tsx';
import type { ReadState } from '../../data/api.ts';
import { actorNameOf, targetNameOf } from '../../data/audit/entries.ts';
import '../../components/lists/filter-chips.css';
import { newestEntry } from '../../data/audit/audit.ts';
import { useCan } from '../../data/me.tsx';
import { labelOf, usePerson } from '../../data/people.ts';
import { t } from '../../text.ts';
import { type AuditSearch, type FilterName, filterNames, startOfDay } from './filter.ts';

type Props = { search: AuditSearch; onRemove: (name: FilterName) => void };

export function Chips({ search, onRemove }: Props): ReactElement {
  const { person: actor } = usePerson(search.actor);
  const { name: actorName, read: readActor } = useNameInLog('actor', actor ? undefined : search.actor);
  const { person: actedBy } = usePerson(search.acted_by);
  const { name: targetName, read: readTarget } = useNameInLog('target', search.target);
  const textOf = (name: FilterName, value: string): string => {
    if (name === 'actor') return actor ? labelOf(actor) : (actorName ?? value);
    if (name === 'acted_by') return actedBy ? labelOf(actedBy) : value;
    if (name === 'target') return targetName ?? value;
    if (name === 'result') return value === 'failure' ? t.audit.failure : t.audit.success;
    if (name === 'from' || name === 'to') {
      const at = startOfDay(value, currentZone());
      return at ? formatDay(at) : value;
    }
    return value;
  };
  return (
    <>
      <ul className="filter-chips" aria-label={t.audit.active}>
        {filterNames.map((name) => {
          const value = search[name];
          if (!value) return null;
          const text = textOf(name, value);
          return (
            <li key={name} className="filter-chip audit-chip">
              <span>
                {t.audit.chip[name]}: <strong data-raw>{text}</strong>
              </span>
              <button
                type="button"
                className="icon-button"
                aria-label={t.audit.removeFilter(`${t.audit.chip[name]}: ${text}`)}
                onClick={() => onRemove(name)}
              >
                <IconX size={14} aria-hidden />
              </button>
            </li>
          );
        })}
      </ul>
      <ReadErrors of={[readActor, readTarget]} />
    </>
  );
}

/** Returns the name that the newest entry has for an id, also of what has been deleted; null if no entry has one or it is not read. */
function useNameInLog(
  role: 'actor' | 'target',
  id: string | undefined,
): { name: string | null; read: ReadState } {
  const newest = useQuery({
    ...newestEntry(role === 'actor' ? { actor_id: id ?? '' } : { resource_id: id ?? '' }),
    enabled: useCan('audit_log.read') && id !== undefined,
  });
  if (id === undefined || !newest.data) return { name: null, read: newest };
  return { name: role === 'actor' ? actorNameOf(newest.data) : targetNameOf(newest.data), read: newest };
}
