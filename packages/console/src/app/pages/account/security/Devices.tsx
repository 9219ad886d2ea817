// The devices on which the person has signed in: forget one, or all.
import type { Device } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { formatDay } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { Uses } from '../../../components/second-factors/facts.tsx';
import { deviceName } from '../../../components/sessions/names.ts';
import { Tag } from '../../../components/text/badges.tsx';
import { useWrite } from '../../../data/api.ts';
import { forgetDevice, forgetDevices } from '../../../data/second-factors/own-devices.ts';
import { later } from '../../../text.ts';
import { Factor } from './Factor.tsx';

export function Devices({ devices }: { devices: readonly Device[] }): ReactElement {
  const texts = later.secondFactors.devices;
  const [isAsking, setAsking] = useState(false);
  const one = useWrite(forgetDevice, () => notifyDone(texts.forgotten));
  const all = useWrite(forgetDevices, () => {
    setAsking(false);
    notifyDone(texts.allForgotten);
  });
  return (
    <Factor
      title={texts.title}
      actions={
        <Button size="xs" variant="default" onClick={() => setAsking(true)}>
          {texts.forgetAll}
        </Button>
      }
    >
      <p className="muted">{texts.text}</p>
      {Boolean(one.error) && <ErrorAlert error={one.error} />}
      <ul className="factor-list">
        {devices.map((device) => (
          <Row key={device.id} device={device} onForget={() => one.run(device.id)} />
        ))}
      </ul>
      {isAsking && (
        <ConfirmDialog
          title={texts.forgetTitle}
          confirmLabel={texts.forgetAll}
          isDangerous
          isPending={all.isPending}
          error={all.error}
          onConfirm={() => all.run(undefined)}
          onClose={() => setAsking(false)}
        >
          <p>{texts.forgetText}</p>
          <p>{texts.count(devices.length)}</p>
        </ConfirmDialog>
      )}
    </Factor>
  );
}

function Row({ device, onForget }: { device: Device; onForget: () => void }): ReactElement {
  const texts = later.secondFactors.devices;
  const { user_agent, network, current, trusted_until, created_at, last_used_at } = device;
  const name = deviceName(user_agent);
  return (
    <li>
      <div className="factor-name">
        <span title={user_agent ?? undefined}>
          <strong>{name}</strong> {current && <Tag tone="accent">{texts.current}</Tag>}{' '}
          {trusted_until && <Tag>{texts.trusted(formatDay(trusted_until))}</Tag>}
        </span>
        {network && <span className="mono muted">{network}</span>}
        <Uses added={created_at} used={last_used_at} />
      </div>
      <Button size="xs" variant="default" aria-label={texts.forgetOf(name)} onClick={onForget}>
        {texts.forget}
      </Button>
    </li>
  );
}
