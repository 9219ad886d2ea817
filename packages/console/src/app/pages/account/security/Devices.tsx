// The devices on which the person has signed in: forget one, or all. Nothing where the service keeps none.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatDay } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ErrorAlert, ReadErrors } from '../../../components/page/states.tsx';
import { deviceName } from '../../../components/sessions/names.ts';
import { Tag } from '../../../components/text/badges.tsx';
import { useWrite } from '../../../data/api.ts';
import type { Device } from '../../../data/second-factor-types.ts';
import { forgetDevice, forgetDevices, ownDevices } from '../../../data/second-factors/own-devices.ts';
import { later } from '../../../text.ts';
import { Factor, Uses } from './Factor.tsx';

export function Devices(): ReactElement | null {
  const texts = later.secondFactors.devices;
  const [isAsking, setAsking] = useState(false);
  const devices = useQuery(ownDevices);
  const one = useWrite(forgetDevice, () => notifyDone(texts.forgotten));
  const all = useWrite(forgetDevices, () => {
    setAsking(false);
    notifyDone(texts.allForgotten);
  });
  const listed = devices.data ?? [];
  if (devices.isPending) return <LoadingLines />;
  if (!devices.error && listed.length === 0) return null;
  return (
    <Factor
      title={texts.title}
      actions={
        listed.length > 0 && (
          <Button size="xs" variant="default" onClick={() => setAsking(true)}>
            {texts.forgetAll}
          </Button>
        )
      }
    >
      <ReadErrors of={[devices]} />
      <p className="muted">{texts.text}</p>
      {Boolean(one.error) && <ErrorAlert error={one.error} />}
      <ul className="factor-list">
        {listed.map((device) => (
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
          <p>{texts.count(listed.length)}</p>
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
