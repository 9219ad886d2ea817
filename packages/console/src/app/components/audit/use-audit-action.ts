// Offers the audit log of the record on screen in the command palette.
import { useNavigate } from '@tanstack/react-router';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { usePageActions } from '../page/page-actions.ts';

/** Offers it only to those who may read the audit log. */
export function useAuditAction(record: { id: string; name: string } | undefined): void {
  const mayRead = useCan('audit_log.read');
  const navigate = useNavigate();
  usePageActions(
    mayRead && record
      ? [
          {
            label: `${t.audit.openLog} · ${record.name}`,
            run: () => void navigate({ to: '/audit', search: { target: record.id } }),
          },
        ]
      : [],
  );
}
