// Saves the filters in force under a name, and applies saved ones.
import { Button } from '@mantine/core';
import { IconBookmark } from '@tabler/icons-react';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { t, withLaterTexts } from '../../text.ts';
import type { AuditSearch } from './filter.ts';

const SavedDialog = lazy(() =>
  withLaterTexts(import('./SavedDialog.tsx')).then(({ SavedDialog: dialog }) => ({ default: dialog })),
);

type Props = { current: AuditSearch; onApply: (search: AuditSearch) => void };

export function SavedFilters({ current, onApply }: Props): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconBookmark size={16} aria-hidden />}
        onClick={() => setOpen(true)}
      >
        {t.audit.saved.label}
      </Button>
      {isOpen && (
        <Suspense>
          <SavedDialog
            current={current}
            onApply={(search) => {
              setOpen(false);
              onApply(search);
            }}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  );
}
