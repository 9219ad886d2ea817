// Whether routine entries show: refreshes of sessions and sign-ins of service accounts. The address keeps it.
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { AuditFilter } from '../../data/audit/audit.ts';

type Routine = {
  /** What to ask the service for. */
  filter: AuditFilter;
  /** Whether the address asks for routine entries. */
  isShown: boolean;
  setShown: (isShown: boolean) => void;
  /** The same in the address of the page Audit log. */
  search: { routine?: 'show' };
};

/** Leaves routine entries out of a filter, unless the address asks for them or the filter names an action. */
export function useRoutine(filter: AuditFilter): Routine {
  const isShown = useSearch({ strict: false }).routine === 'show';
  const navigate = useNavigate();
  return {
    filter: isShown || filter.action ? filter : { ...filter, routine: 'exclude' },
    isShown,
    search: isShown ? { routine: 'show' } : {},
    setShown: (show) =>
      void navigate({
        to: '.',
        search: (now) => ({ ...now, routine: show ? 'show' : undefined }),
        resetScroll: false,
      }),
  };
}
