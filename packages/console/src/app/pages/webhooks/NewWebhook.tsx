// Creates a webhook, then shows its secret, once.
import type { NewWebhook as Made } from '@castellan/sdk';
import { IconArrowLeft } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { Form, LeaveGuard } from '../../components/forms/forms.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { SecretDialog } from '../../components/secrets/SecretDialog.tsx';
import { call, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';
import { changedNames, emptyValues, newBodyOf, resourceTypesIn } from './form/values.ts';
import { isWhole, namedFields, WebhookFields } from './form/WebhookFields.tsx';
import { missingFor } from './permissions.ts';
import './webhooks.css';

export function NewWebhook(): ReactElement {
  const texts = later.webhooks;
  const { can } = useMe();
  const navigate = useNavigate();
  const [values, setValues] = useState(emptyValues);
  const [made, setMade] = useState<Made | null>(null);
  const write = useWrite(
    (body: ReturnType<typeof newBodyOf>) => call('POST /api/v1/webhooks', { body }),
    ({ data }) => setMade(data),
  );
  const missing = missingFor(can, 'audit_log.read');
  const isDirty = changedNames(emptyValues, values).length > 0;
  return (
    <>
      <Link to="/webhooks" className="webhook-back">
        <IconArrowLeft size={15} aria-hidden className="mirrored" /> {t.common.nav.webhooks}
      </Link>
      <PageHeader title={texts.create} />
      {missing && (
        <p role="alert">
          {t.common.forbidden.reason(missing)} {texts.needsAuditLog}
        </p>
      )}
      <LeaveGuard when={isDirty && made === null && !write.isPending} />
      {made === null && (
        <WebhookFields
          values={values}
          error={write.error}
          isReadOnly={() => missing !== null}
          onChange={(name, value) => setValues((now) => ({ ...now, [name]: value }))}
          form={(fields, catalogue) => (
            <Form
              onSubmit={() => write.run(newBodyOf(values, resourceTypesIn(catalogue)))}
              isPending={write.isPending}
              error={write.error}
              fields={namedFields(write.error)}
              submitLabel={t.common.actions.create}
              isDisabled={missing !== null || !isWhole(values)}
            >
              {fields}
            </Form>
          )}
        />
      )}
      {made && (
        <SecretDialog
          secret={made.secret ?? null}
          name={made.name}
          texts={texts.secret}
          onClose={() => {
            notifyDone(texts.created(made.name));
            void navigate({ to: '/webhooks/$id', params: { id: made.id }, replace: true });
          }}
        />
      )}
    </>
  );
}
