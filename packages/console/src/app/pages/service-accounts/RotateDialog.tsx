// Replaces an API key. The old one still works during an overlap, so that programs can change without a break.
import type { ApiKey, NewApiKey } from '@castellan/sdk';
import { type ReactElement, useId, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { call, useWrite } from '../../data/api.ts';
import { t } from '../../text.ts';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const WEEK_SECONDS = 604_800;

const overlaps = { none: 0, hour: HOUR_SECONDS, day: DAY_SECONDS, week: WEEK_SECONDS } as const;
const names = ['none', 'hour', 'day', 'week'] as const;

type Props = { accountId: string; item: ApiKey; onClose: () => void; onMade: (key: NewApiKey) => void };

export function RotateDialog({ accountId, item, onClose, onMade }: Props): ReactElement {
  const texts = t.serviceAccounts.keys;
  const id = useId();
  const [overlap, setOverlap] = useState<(typeof names)[number]>('day');
  const write = useWrite(
    () =>
      call('POST /api/v1/service-accounts/{service_account_id}/keys/{key_id}/rotate', {
        path: { service_account_id: accountId, key_id: item.id },
        body: { overlap_seconds: overlaps[overlap] },
      }),
    ({ data }) => onMade(data),
  );
  return (
    <ConfirmDialog
      title={texts.rotateTitle(item.name)}
      confirmLabel={texts.rotate}
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.rotateText}</p>
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
