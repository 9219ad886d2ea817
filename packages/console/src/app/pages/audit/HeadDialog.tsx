// The dialog with the signed head of the audit log, to be kept elsewhere, and the times that the log went on in a new one.
import type { AuditLogEntry, Sealing } from '@castellan/sdk';
import { Button, CopyButton, Group, Modal } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { formatMoment, formatNumber } from '../../../common/format.ts';
import { saveBlob } from '../../../common/save-blob.ts';
import { ReadErrors } from '../../components/page/states.tsx';
import { Moment } from '../../components/text/time.tsx';
import type { ReadState } from '../../data/api.ts';
import { headOf } from '../../data/audit/evidence.ts';
import { later, t } from '../../text.ts';

type Head = NonNullable<Sealing['head']>;
type Forks = ReadState & { data: readonly AuditLogEntry[] | undefined };
type Props = { head: Head | null; forks: Forks; onClose: () => void };

export function HeadDialog({ head, forks, onClose }: Props): ReactElement {
  const texts = later.evidence;
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.head.title}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <div className="sealed-log">
        {head ? <SignedHead head={head} /> : <p className="muted">{texts.head.none}</p>}
        <h3 className="section-title">{texts.forks.title}</h3>
        <ReadErrors of={[forks]} />
        {forks.data?.length === 0 && <p className="muted">{texts.forks.none}</p>}
        {forks.data && forks.data.length > 0 && (
          <ul className="forks">
            {forks.data.map((entry) => (
              <Fork key={entry.id} entry={entry} onOpen={onClose} />
            ))}
          </ul>
        )}
      </div>
    </Modal>
  );
}

function SignedHead({ head }: { head: Head }): ReactElement {
  const headTexts = later.evidence.head;
  const query = useQuery(headOf(head.origin, head.seals));
  const note = query.data;
  const facts = [
    [headTexts.seals, formatNumber(head.seals)],
    [headTexts.root, head.root],
    [headTexts.origin, head.origin],
  ] as const;
  return (
    <>
      <p>{headTexts.text}</p>
      <dl className="facts">
        <div>
          <dt>{headTexts.at}</dt>
          <dd>
            <Moment at={head.sealed_at} />
          </dd>
        </div>
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd className="mono" data-raw>
              {value}
            </dd>
          </div>
        ))}
      </dl>
      <ReadErrors of={[query]} />
      {note !== undefined && (
        <>
          <h3 className="section-title">{headTexts.note}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
          <pre className="mono note" tabIndex={0} data-raw>
            {note}
          </pre>
          <Group gap="xs">
            <CopyButton value={note}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy}>
                  {copied ? t.common.actions.copied : t.common.actions.copy}
                </Button>
              )}
            </CopyButton>
            <Button
              variant="default"
              onClick={() =>
                saveBlob(new Blob([note], { type: 'text/plain' }), `audit-head-${head.seals}.txt`)
              }
            >
              {headTexts.download}
            </Button>
          </Group>
        </>
      )}
    </>
  );
}

function Fork({ entry, onOpen }: { entry: AuditLogEntry; onOpen: () => void }): ReactElement {
  const forkTexts = later.evidence.forks;
  const { reason, size, known_size: known } = entry.details;
  const lost = typeof size === 'number' && typeof known === 'number' ? known - size : 0;
  const told = new Map(Object.entries(forkTexts.reasons)).get(String(reason));
  return (
    <li>
      <Link
        to="/audit"
        search={{ action: entry.action, entry: entry.id }}
        className="text-link"
        aria-label={forkTexts.showOf(formatMoment(entry.timestamp))}
        onClick={onOpen}
      >
        <Moment at={entry.timestamp} />
      </Link>
      <span>
        {told ?? String(reason)} {lost > 0 && forkTexts.lost(lost)}
      </span>
    </li>
  );
}
