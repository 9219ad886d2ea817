// The live secrets of a webhook. Each signs every event. A new one is shown once, in the dialog that creates it.
import type { NewWebhookSecret, Webhook } from '@castellan/sdk';
import { type ReactElement, useId, useState } from 'react';
import { formatMoment } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { SecretDialog } from '../../../components/secrets/SecretDialog.tsx';
import { Moment } from '../../../components/text/time.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import '../../../components/secrets/secrets.css';

const overlaps = { none: 0, hour: 3_600, day: 86_400, week: 604_800 } as const;
const names = ['none', 'hour', 'day', 'week'] as const;

export function SecretsTab({ webhook }: { webhook: Webhook }): ReactElement {
  const texts = later.webhooks.secrets;
  const mayUpdate = useCan('webhook.update');
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<NewWebhookSecret | null>(null);
  return (
    <>
      <div className="webhook-line">
        <p className="muted">{texts.text}</p>
        <ReasonButton
          reason={mayUpdate ? null : t.common.forbidden.reason('webhook.update')}
          onClick={() => setOpen(true)}
        >
          {texts.create}
        </ReasonButton>
      </div>
      <ul className="key-list" aria-label={texts.label}>
        {webhook.secrets.map((secret) => (
          <li key={secret.id}>
            <div className="key-head">
              <strong>
                {texts.createdAt} <Moment at={secret.created_at} />
              </strong>
            </div>
            <span className="key-facts">
              {secret.ends_at === null ? texts.stays : texts.endsAt(formatMoment(secret.ends_at))}
            </span>
          </li>
        ))}
      </ul>
      {isOpen && (
        <NewSecret
          webhookId={webhook.id}
          onClose={() => setOpen(false)}
          onMade={(secret) => {
            setOpen(false);
            setMade(secret);
          }}
        />
      )}
      {made && (
        <SecretDialog
          secret={made.secret ?? null}
          name={webhook.name}
          texts={later.webhooks.secret}
          onClose={() => setMade(null)}
        />
      )}
    </>
  );
}

type NewProps = { webhookId: string; onClose: () => void; onMade: (secret: NewWebhookSecret) => void };

function NewSecret({ webhookId, onClose, onMade }: NewProps): ReactElement {
  const texts = later.webhooks.secrets;
  const id = useId();
  const [overlap, setOverlap] = useState<(typeof names)[number]>('day');
  const write = useWrite(
    () =>
      call('POST /api/v1/webhooks/{webhook_id}/secrets', {
        path: { webhook_id: webhookId },
        body: { overlap_seconds: overlaps[overlap] },
      }),
    ({ data }) => onMade(data),
  );
  return (
    <ConfirmDialog
      title={texts.create}
      confirmLabel={t.common.actions.create}
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.createText}</p>
      <fieldset className="choice">
        <legend>{texts.overlap}</legend>
        {names.map((name) => (
          <label key={name}>
            <input type="radio" name={id} checked={overlap === name} onChange={() => setOverlap(name)} />
            {texts.overlaps[name]}
          </label>
        ))}
      </fieldset>
    </ConfirmDialog>
  );
}
