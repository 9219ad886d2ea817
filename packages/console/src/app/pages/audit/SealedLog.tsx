// What the sealed log says as a whole: warnings on the page, and the dialog with the signed head.

import type { Sealing } from '@castellan/sdk';
import { Alert } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { formatMoment } from '../../../common/format.ts';
import { ReadErrors } from '../../components/page/states.tsx';
import { latestForks } from '../../data/audit/evidence.ts';
import { later } from '../../text.ts';
import { HeadDialog } from './HeadDialog.tsx';

/** A new log is told on the page for so long; the dialog lists it afterwards, too. */
const RECENT_MS = 30 * 86_400_000;

type Props = { sealing: Sealing; isOpen: boolean; onClose: () => void };

export function SealedLog({ sealing, isOpen, onClose }: Props): ReactElement {
  const texts = later.evidence;
  const forks = useQuery(latestForks());
  const [newest] = forks.data ?? [];
  const isRecent = newest !== undefined && Date.now() - Date.parse(newest.timestamp) < RECENT_MS;
  return (
    <>
      {!sealing.is_on && (
        <Alert color="yellow" variant="light" icon={<IconAlertTriangle aria-hidden />} className="seal-alert">
          {texts.off}
        </Alert>
      )}
      {isRecent && (
        <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} className="seal-alert">
          <p className="alert-text">{texts.forks.recent(formatMoment(newest.timestamp))}</p>
          <Link to="/audit" search={{ action: newest.action, entry: newest.id }} className="text-link">
            {texts.forks.show}
          </Link>
        </Alert>
      )}
      {!isOpen && <ReadErrors of={[forks]} />}
      {isOpen && <HeadDialog head={sealing.head} forks={forks} onClose={onClose} />}
    </>
  );
}
