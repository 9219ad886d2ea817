// Sends past events again: from when to when, which, and whether only those that were given up.
// They are counted first: what was counted is sent, unless a field changes.
import type { ReplayWebhook, Webhook, WebhookReplay } from '@castellan/sdk';
import { Button, Group, Modal, MultiSelect, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useId, useState } from 'react';
import { DateTimeInput } from '../../../components/forms/DateTimeInput.tsx';
import { Form, fieldError } from '../../../components/forms/forms.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { useWrite } from '../../../data/api.ts';
import { replay } from '../../../data/webhooks/deliveries.ts';
import { eventCatalogue } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import { countText } from '../counts.ts';
import { toldOf, valuesOf } from '../form/values.ts';

type Props = { webhook: Webhook; onClose: () => void };

const choices = ['dead', 'all'] as const;
const DAY_MS = 86_400_000;

export function ReplayDialog({ webhook, onClose }: Props): ReactElement {
  const texts = later.webhooks.deliveries.replay;
  const [done, setDone] = useState<WebhookReplay | null>(null);
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title(webhook.name)}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {done === null ? (
        <Choice webhook={webhook} onClose={onClose} onDone={setDone} />
      ) : (
        <Stack gap="sm">
          <p role="status">{texts.queued(done.count)}</p>
          <Group justify="flex-end">
            <Button onClick={onClose} data-autofocus>
              {t.common.actions.close}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function Choice({
  webhook,
  onClose,
  onDone,
}: Props & { onDone: (done: WebhookReplay) => void }): ReactElement {
  const texts = later.webhooks.deliveries.replay;
  const id = useId();
  const catalogue = useQuery(eventCatalogue);
  const [only, setOnly] = useState<(typeof choices)[number]>('dead');
  const [from, setFrom] = useState<string | undefined>(() => new Date(Date.now() - DAY_MS).toISOString());
  const [to, setTo] = useState<string>();
  const [events, setEvents] = useState<string[]>([]);
  const [count, setCount] = useState<number>();
  const bodyOf = (start: string): ReplayWebhook => ({
    from: start,
    only,
    ...(to === undefined ? {} : { to }),
    ...(events.length === 0 ? {} : { events }),
  });
  const counting = useWrite(
    (start: string) => replay(webhook.id, { ...bodyOf(start), count_only: true }),
    ({ data }) => setCount(data.count),
  );
  const sending = useWrite(
    (start: string) => replay(webhook.id, bodyOf(start)),
    ({ data }) => onDone(data),
  );
  const isCounted = count !== undefined && count > 0;
  const error = sending.error ?? counting.error;
  /** What was counted is no longer what would be sent. */
  const changing =
    <T,>(change: (value: T) => void) =>
    (value: T): void => {
      setCount(undefined);
      change(value);
    };
  return (
    <Form
      onSubmit={() => {
        if (from !== undefined) (isCounted ? sending : counting).run(from);
      }}
      isPending={counting.isPending || sending.isPending}
      error={error}
      fields={['from', 'to']}
      submitLabel={isCounted ? texts.start(count) : texts.count}
      onCancel={onClose}
      isDisabled={from === undefined}
    >
      <fieldset className="choice">
        <legend>{texts.only}</legend>
        {choices.map((one) => (
          <label key={one}>
            <input type="radio" name={id} checked={only === one} onChange={() => changing(setOnly)(one)} />
            {one === 'dead' ? texts.dead(countText(webhook.dead)) : texts.all}
          </label>
        ))}
      </fieldset>
      <div className="resend-range">
        <DateTimeInput
          required
          label={texts.from}
          description={only === 'dead' ? texts.fromDead : texts.fromAll}
          value={from}
          error={fieldError(error, 'from')}
          onChange={changing(setFrom)}
        />
        <DateTimeInput
          label={texts.to}
          description={texts.toHelp}
          value={to}
          error={fieldError(error, 'to')}
          onChange={changing(setTo)}
        />
      </div>
      <MultiSelect
        label={texts.events}
        placeholder={events.length === 0 ? texts.everyEvent : ''}
        data={toldOf(valuesOf(webhook), catalogue.data ?? [])}
        value={events}
        onChange={changing(setEvents)}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': t.access.clear(texts.events) }}
        data-raw
      />
      <ReadErrors of={[catalogue]} />
      <p role="status">{count === 0 ? texts.none : isCounted ? texts.counted(count) : ''}</p>
      <p className="muted">{texts.text}</p>
    </Form>
  );
}
