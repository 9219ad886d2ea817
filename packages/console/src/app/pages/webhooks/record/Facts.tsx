// How a webhook does: where it sends, what waits, what was given up. Of a paused one, why, and what to do.
import type { Webhook } from '@castellan/sdk';
import { IconAlertTriangle, IconPlayerPause } from '@tabler/icons-react';
import type { ReactElement, ReactNode } from 'react';
import { PlainAgo } from '../../../components/text/time.tsx';
import { later } from '../../../text.ts';
import { countText } from '../counts.ts';

export function Facts({ webhook }: { webhook: Webhook }): ReactElement {
  const texts = later.webhooks;
  return (
    <>
      <dl className="panel webhook-facts">
        <Fact label={texts.fields.url} isLong>
          <span className="mono">{webhook.url}</span>
        </Fact>
        <Fact label={texts.columns.waiting}>{countText(webhook.waiting)}</Fact>
        <Fact label={texts.columns.oldest}>
          <PlainAgo at={webhook.oldest_waiting_at} />
        </Fact>
        <Fact label={texts.columns.dead}>{countText(webhook.dead)}</Fact>
        <Fact label={texts.columns.success}>
          <PlainAgo at={webhook.last_success_at} />
        </Fact>
      </dl>
      {webhook.paused_reason === 'requested' && (
        <p className="note note-accent">
          <IconPlayerPause size={18} aria-hidden />
          <span>{texts.pausedHelp.requested}</span>
        </p>
      )}
      {webhook.paused_reason !== null && webhook.paused_reason !== 'requested' && (
        <p className="note note-warn">
          <IconAlertTriangle size={18} aria-hidden />
          <span>{texts.pausedHelp[webhook.paused_reason]}</span>
        </p>
      )}
      {webhook.status === 'failing' && (
        <p className="note note-warn">
          <IconAlertTriangle size={18} aria-hidden />
          <span>{texts.failingHelp}</span>
        </p>
      )}
    </>
  );
}

type FactProps = { label: string; isLong?: boolean; children: ReactNode };

const Fact = ({ label, isLong = false, children }: FactProps): ReactElement => (
  <div data-long={isLong || undefined}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);
