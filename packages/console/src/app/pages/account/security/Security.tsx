// Sign-in and security: the second factors of the signed-in person, recovery codes and known devices.
// It must not keep recovery codes: it hands them to the page, which shows them once.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { canUsePasskeys } from '../../../data/second-factors/ceremony.ts';
import { ownDevices } from '../../../data/second-factors/own-devices.ts';
import { ownFactors } from '../../../data/second-factors/own-factors.ts';
import { later } from '../../../text.ts';
import { AppFactor } from './AppFactor.tsx';
import { Devices } from './Devices.tsx';
import { Passkeys } from './passkeys/Passkeys.tsx';
import { RecoveryCodes } from './RecoveryCodes.tsx';
import './security.css';
import type { ShowCodes } from './show-codes.ts';

export function Security({ onCodes }: { onCodes: ShowCodes }): ReactElement {
  const texts = later.secondFactors;
  const factors = useQuery(ownFactors);
  const devices = useQuery(ownDevices);
  const { data } = factors;
  return (
    <>
      <h2 className="section-title" id="security-title">
        {texts.title}
      </h2>
      <p className="muted">{texts.text}</p>
      <ReadErrors of={[factors, devices]} />
      {data && !devices.isPending ? (
        <div className="factors">
          <Passkeys kind="passkey" factors={data} onCodes={onCodes} />
          <Passkeys kind="security_key" factors={data} onCodes={onCodes} />
          <AppFactor factors={data} onCodes={onCodes} />
          {data.recovery_codes && <RecoveryCodes codes={data.recovery_codes} onCodes={onCodes} />}
          {devices.data && devices.data.length > 0 && <Devices devices={devices.data} />}
        </div>
      ) : (
        !factors.error && <LoadingLines />
      )}
    </>
  );
}

/** The factors that would do, where the service demands one before everything else. */
export function RequiredFactors({
  isPasskey,
  onCodes,
}: {
  isPasskey: boolean;
  onCodes: ShowCodes;
}): ReactElement {
  const factors = useQuery(ownFactors);
  const { data } = factors;
  if (!data) return factors.error ? <ReadErrors of={[factors]} /> : <LoadingLines />;
  const { available } = data;
  const isPossible = (available.passkey && canUsePasskeys()) || (available.totp && !isPasskey);
  return (
    <div className="factors">
      <Passkeys kind="passkey" factors={data} onCodes={onCodes} />
      <Passkeys kind="security_key" factors={data} onCodes={onCodes} />
      {!isPasskey && <AppFactor factors={data} onCodes={onCodes} />}
      {!isPossible && <p>{later.secondFactors.required.unavailable}</p>}
    </div>
  );
}
