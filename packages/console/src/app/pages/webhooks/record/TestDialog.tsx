// Sends one sample to the endpoint and shows what came back: the status, or why there was none, and how long it took.
import type { Webhook, WebhookTest } from '@castellan/sdk';
import { Button, Group, Modal, Select, Stack } from '@mantine/core';
import { IconCircleCheck, IconCircleX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { ErrorAlert, ReadErrors } from '../../../components/page/states.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { eventCatalogue } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import { causeText } from '../causes.ts';
import { toldOf, valuesOf } from '../form/values.ts';

type Props = { webhook: Webhook; onClose: () => void };

export function TestDialog({ webhook, onClose }: Props): ReactElement {
  const texts = later.webhooks.test;
  const catalogue = useQuery(eventCatalogue);
  const told = toldOf(valuesOf(webhook), catalogue.data ?? []);
  const [chosen, setChosen] = useState<string | null>(null);
  const type = chosen ?? told[0];
  const [result, setResult] = useState<WebhookTest | null>(null);
  const write = useWrite(
    () =>
      call('POST /api/v1/webhooks/{webhook_id}/test', {
        path: { webhook_id: webhook.id },
        body: type === undefined ? {} : { type },
      }),
    ({ data }) => setResult(data),
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title(webhook.name)}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack gap="sm">
        <p>{texts.text}</p>
        <p className="mono webhook-url">{webhook.url}</p>
        <ReadErrors of={[catalogue]} />
        <Select
          label={texts.type}
          description={texts.typeHelp}
          placeholder={told[0] ?? ''}
          data={told}
          value={chosen}
          onChange={setChosen}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t.access.clear(texts.type) }}
          nothingFoundMessage={t.common.list.noMatch}
          data-raw
        />
        {Boolean(write.error) && <ErrorAlert error={write.error} />}
        <div role="status">{result && !write.isPending && <Result result={result} />}</div>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t.common.actions.close}
          </Button>
          <Button loading={write.isPending} onClick={() => write.run(undefined)}>
            {result === null ? texts.send : texts.again}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Result({ result: { status, cause, ms } }: { result: WebhookTest }): ReactElement {
  const texts = later.webhooks.test;
  const took = texts.ms(formatNumber(ms));
  return (
    <p className="test-result" data-ok={cause === null}>
      {cause === null ? <IconCircleCheck size={18} aria-hidden /> : <IconCircleX size={18} aria-hidden />}
      <span>
        <strong>{cause === null ? texts.good(status ?? 0) : causeText(cause, status)}</strong> {took}
      </span>
    </p>
  );
}
