// The settings of a webhook in one form. If somebody else has changed it, the person chooses for each field what to keep.
import { type ReactElement, useState } from 'react';
import { FieldConflict } from '../../../components/forms/FieldConflict.tsx';
import { Form, LeaveGuard } from '../../../components/forms/forms.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import type { WebhookField } from '../../../data/form-fields.ts';
import { useMe } from '../../../data/me.tsx';
import { type ReadWebhook, updateWebhook } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import {
  bodyOf,
  changedNames,
  type FormValues,
  fieldNames,
  listIn,
  resourceTypesIn,
  results,
  valuesOf,
} from '../form/values.ts';
import { isWhole, namedFields, WebhookFields } from '../form/WebhookFields.tsx';

/** The version that the form began with, also when the page reads the record again. */
type Begun = { etag: string | null; values: FormValues };
const begin = ({ webhook, etag }: ReadWebhook): Begun => ({ etag, values: valuesOf(webhook) });

export function SettingsTab({ read }: { read: ReadWebhook }): ReactElement {
  const texts = later.webhooks;
  const { can } = useMe();
  const mayUpdate = can('webhook.update');
  const mayReadLog = can('audit_log.read');
  const [begun, setBegun] = useState(() => begin(read));
  const [values, setValues] = useState(begun.values);
  const changed = changedNames(begun.values, values);
  const restart = (from: ReadWebhook): void => {
    const next = begin(from);
    setBegun(next);
    setValues(next.values);
  };
  // Nothing was typed that another version could overwrite.
  if (changed.length === 0 && begun.etag !== read.etag) restart(read);
  const write = useWrite(
    ({ etag, body }: { etag: string | null; body: ReturnType<typeof bodyOf> }) =>
      updateWebhook({ ...read, etag }, body),
    (stored) => {
      restart(stored);
      notifyDone(texts.saved(stored.webhook.name));
    },
  );
  const theirs = begin(read);
  const isStale = isCode(write.error, 'precondition_failed') && begun.etag !== theirs.etag;
  const isReadOnly = (name: WebhookField): boolean => !mayUpdate || (!mayReadLog && name !== 'name');
  return (
    <>
      {mayUpdate && !mayReadLog && (
        <p className="muted">
          {t.common.forbidden.reason('audit_log.read')} {texts.needsAuditLog}
        </p>
      )}
      {!mayUpdate && <p className="muted">{t.common.forbidden.reason('webhook.update')}</p>}
      <LeaveGuard when={changed.length > 0 && !write.isPending} of={['tab']} />
      <WebhookFields
        values={values}
        error={isStale ? null : write.error}
        isReadOnly={isReadOnly}
        onChange={(name, value) => setValues((now) => ({ ...now, [name]: value }))}
        form={(fields, catalogue) => (
          <>
            <Form
              onSubmit={() =>
                write.run({
                  etag: begun.etag,
                  body: bodyOf(begun.values, values, resourceTypesIn(catalogue)),
                })
              }
              isPending={write.isPending}
              error={isStale ? null : write.error}
              fields={namedFields(write.error)}
              submitLabel={t.common.actions.save}
              isDisabled={!mayUpdate || changed.length === 0 || !isWhole(values)}
            >
              {fields}
            </Form>
            {isStale && (
              <FieldConflict
                versions={{ base: begun.values, mine: values, theirs: theirs.values }}
                fields={fieldNames.map((name) => ({
                  name,
                  label: texts.fields[name],
                  ...(name === 'results' ? { textOf: resultText } : {}),
                  ...(name === 'events' || name === 'resource_types' ? { textOf: listText } : {}),
                }))}
                // What was typed stays in the form.
                onClose={() => write.reset()}
                onSave={(chosen) => {
                  setBegun(theirs);
                  setValues(chosen);
                  write.run({
                    etag: theirs.etag,
                    body: bodyOf(theirs.values, chosen, resourceTypesIn(catalogue)),
                  });
                }}
              />
            )}
          </>
        )}
      />
    </>
  );
}

const listText = (text: string): string => listIn(text).join(', ');

function resultText(text: string): string {
  const result = results.find((one) => one === text);
  return result ? later.webhooks.results[result] : text;
}
