// All fields of a webhook, with a sample of what they send beside them.
import type { EventDescription } from '@castellan/sdk';
import { Checkbox, MultiSelect, Radio, Stack, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, type ReactNode, useState } from 'react';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { failureOf } from '../../../data/errors.ts';
import type { WebhookField } from '../../../data/form-fields.ts';
import { eventCatalogue } from '../../../data/webhooks/webhooks.ts';
import { later } from '../../../text.ts';
import { EventTree } from './EventTree.tsx';
import { Sample } from './Sample.tsx';
import { type FormValues, fieldNames, listIn, resourceTypesIn, results, toldOf } from './values.ts';

type Props = {
  values: FormValues;
  error: unknown;
  /** What the person may not change. */
  isReadOnly: (name: WebhookField) => boolean;
  onChange: (name: WebhookField, value: string | boolean) => void;
  /** Gets the fields, and puts them into the form. */
  form: (fields: ReactNode, catalogue: readonly EventDescription[]) => ReactNode;
};

/** Nothing is chosen yet, and this is what most ask for first. */
const FIRST_SAMPLE = 'user_created';

export function WebhookFields({ values, error, isReadOnly, onChange, form }: Props): ReactElement {
  const texts = later.webhooks;
  const catalogue = useQuery(eventCatalogue);
  const [chosen, setChosen] = useState<string>();
  const all = catalogue.data ?? [];
  const told = toldOf(values, all);
  const shown = chosen ?? told[0] ?? FIRST_SAMPLE;
  const patterns = listIn(values.events);
  const inputOf = (name: 'name' | 'url') => ({
    label: texts.fields[name],
    value: values[name],
    error: errorOf(error, name),
    readOnly: isReadOnly(name),
    required: true,
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { currentTarget: { value: string } }) => onChange(name, event.currentTarget.value),
  });
  const fields = (
    <>
      <fieldset className="panel webhook-group">
        <legend className="section-title">{texts.groups.endpoint}</legend>
        <TextInput {...inputOf('name')} description={texts.nameHelp} />
        <TextInput
          {...inputOf('url')}
          description={texts.urlHelp}
          placeholder="https://billing.example.com/castellan"
          inputMode="url"
          data-raw
        />
      </fieldset>
      <fieldset className="panel webhook-group">
        <legend className="section-title">{texts.groups.told}</legend>
        <div className="event-place">
          <ReadErrors of={[catalogue]} />
          {catalogue.isPending && <LoadingLines />}
          {catalogue.data && (
            <EventTree
              catalogue={all}
              patterns={patterns}
              error={errorOf(error, 'events')}
              isReadOnly={isReadOnly('events')}
              shown={shown}
              onShow={setChosen}
              onChange={(next) => onChange('events', next.join(' '))}
            />
          )}
        </div>
        <MultiSelect
          label={texts.fields.resource_types}
          description={texts.typesHelp}
          placeholder={values.resource_types === '' ? texts.everyType : ''}
          value={listIn(values.resource_types)}
          data={resourceTypesIn(all)}
          onChange={(types) => onChange('resource_types', [...types].sort().join(' '))}
          error={errorOf(error, 'resource_types')}
          readOnly={isReadOnly('resource_types')}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': texts.clearTypes }}
          data-raw
        />
        <Radio.Group
          label={texts.fields.results}
          value={values.results}
          error={errorOf(error, 'results')}
          readOnly={isReadOnly('results')}
          onChange={(value) => onChange('results', value)}
        >
          <Stack gap={6} mt={6}>
            {results.map((value) => (
              <Radio
                key={value}
                value={value}
                label={texts.results[value]}
                disabled={isReadOnly('results')}
              />
            ))}
          </Stack>
        </Radio.Group>
        {catalogue.data && patterns.length > 0 && (
          <p className={told.length === 0 ? 'note note-warn' : 'muted'} role="status">
            {told.length === 0 && <IconAlertTriangle size={18} aria-hidden />}
            <span>{told.length === 0 ? texts.toldNothing : texts.told(told.length)}</span>
          </p>
        )}
      </fieldset>
      <fieldset className="panel webhook-group">
        <legend className="section-title">{texts.groups.personal}</legend>
        <Checkbox
          label={texts.fields.personal}
          description={texts.personalHelp}
          checked={values.personal}
          disabled={isReadOnly('personal')}
          onChange={(event) => onChange('personal', event.currentTarget.checked)}
        />
        {values.personal && (
          <p className="note note-warn">
            <IconAlertTriangle size={18} aria-hidden />
            <span>{texts.personalWarning}</span>
          </p>
        )}
      </fieldset>
    </>
  );
  return (
    <div className="webhook-form">
      {form(fields, all)}
      <aside className="webhook-aside" aria-label={texts.sample.title}>
        {catalogue.data && (
          <Sample
            catalogue={all}
            types={told}
            shown={shown}
            isPersonal={values.personal}
            onShow={setChosen}
          />
        )}
      </aside>
    </div>
  );
}

/** Whether the service means this field, or something in it: `events.2`. */
const isOf = (field: string, name: string): boolean => field === name || field.startsWith(`${name}.`);

function errorOf(error: unknown, name: WebhookField): string | null {
  if (!error) return null;
  return [...failureOf(error).fields].find(([field]) => isOf(field, name))?.[1] ?? null;
}

/** The fields of an error that show in the form. */
export const namedFields = (error: unknown): string[] =>
  error
    ? [...failureOf(error).fields.keys()].filter((field) => fieldNames.some((name) => isOf(field, name)))
    : [];

/** Whether all that the service needs is there. */
export const isWhole = ({ name, url, events }: FormValues): boolean =>
  [name, url, events].every((text) => text.trim() !== '');
