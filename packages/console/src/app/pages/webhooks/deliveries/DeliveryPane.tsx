// One delivery: the event, every attempt, and a button that sends it again.
import type { WebhookDeliveryDetail } from '@castellan/sdk';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { formatAgo, formatNumber } from '../../../../common/format.ts';
import { SidePane } from '../../../components/dialogs/SidePane.tsx';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ErrorAlert, ReadErrors } from '../../../components/page/states.tsx';
import { Moment } from '../../../components/text/time.tsx';
import { useWrite } from '../../../data/api.ts';
import { knownActions } from '../../../data/audit/actions.ts';
import { isCode } from '../../../data/errors.ts';
import { useCan } from '../../../data/me.tsx';
import { resend, useDelivery } from '../../../data/webhooks/deliveries.ts';
import { later, t } from '../../../text.ts';
import { causeText } from '../causes.ts';
import { DeliveryState } from './DeliveryState.tsx';

type Props = { webhookId: string; id: string; onClose: () => void };

export function DeliveryPane({ webhookId, id, onClose }: Props): ReactElement {
  const texts = later.webhooks.deliveries;
  const query = useDelivery(webhookId, id);
  const delivery = query.data?.data;
  const isGone = isCode(query.error, 'delivery_not_found');
  return (
    <SidePane
      label={delivery?.type ?? texts.one}
      onClose={onClose}
      header={
        delivery && (
          <>
            <h2 className="mono delivery-type">{delivery.type}</h2>
            <p>
              <DeliveryState state={delivery.state} />
            </p>
          </>
        )
      }
    >
      {isGone && <p className="muted">{texts.gone}</p>}
      {!isGone && <ReadErrors of={[query]} />}
      {query.isPending && <LoadingLines />}
      {delivery && !isGone && <Detail webhookId={webhookId} delivery={delivery} />}
    </SidePane>
  );
}

/** What is no action has no entry. */
const isAction = (type: string): boolean => knownActions().some((one) => one === type);

type DetailProps = { webhookId: string; delivery: WebhookDeliveryDetail };

function Detail({ webhookId, delivery }: DetailProps): ReactElement {
  const texts = later.webhooks.deliveries;
  const mayUpdate = useCan('webhook.update');
  const write = useWrite(
    () => resend(webhookId, delivery.id),
    () => notifyDone(texts.resent),
  );
  const { attempts, payload } = delivery;
  return (
    <>
      <dl className="delivery-facts">
        <div>
          <dt>{texts.columns.queued}</dt>
          <dd>
            <Moment at={delivery.created_at} />
          </dd>
        </div>
        {delivery.next_at !== null && delivery.state === 'waiting' && (
          <div>
            <dt>{texts.next}</dt>
            <dd>{formatAgo(delivery.next_at)}</dd>
          </div>
        )}
        {delivery.settled_at !== null && (
          <div>
            <dt>{delivery.state === 'dead' ? texts.givenUp : texts.sentAt}</dt>
            <dd>
              <Moment at={delivery.settled_at} />
            </dd>
          </div>
        )}
      </dl>
      {payload !== null && isAction(delivery.type) && (
        <p>
          <Link to="/audit" search={{ entry: delivery.event_id }} className="text-link">
            {t.audit.openLog}
          </Link>
        </p>
      )}
      <div className="delivery-part">
        <ReasonButton
          variant="default"
          reason={mayUpdate ? null : t.common.forbidden.reason('webhook.update')}
          onClick={() => {
            if (!write.isPending) write.run(undefined);
          }}
        >
          {texts.resend}
        </ReasonButton>
        <p className="muted">{texts.resendHelp}</p>
      </div>
      {Boolean(write.error) && <ErrorAlert error={write.error} />}
      <section className="delivery-part">
        <h3 className="section-title">{texts.attempts}</h3>
        {attempts.length === 0 && <p className="muted">{texts.noAttempts}</p>}
        <ol className="attempts">
          {attempts.map(({ at, status, cause, ms }) => (
            <li key={at}>
              <Moment at={at} />
              <span>
                {cause === null ? texts.arrived(status ?? 0) : causeText(cause, status)} ·{' '}
                {later.webhooks.test.ms(formatNumber(ms))}
              </span>
            </li>
          ))}
        </ol>
      </section>
      <section className="delivery-part">
        <h3 className="section-title">{texts.payload}</h3>
        <p className="muted">{payload === null ? texts.removed : texts.payloadHelp}</p>
        {payload !== null && <pre className="mono event-json">{JSON.stringify(payload, null, 2)}</pre>}
      </section>
    </>
  );
}
