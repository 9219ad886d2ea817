// The ways in which somebody can prove a second factor: the first one open, the others by name.
import type { PasskeyRequestOptions, StepUpOptions } from '@castellan/sdk';
import { type ReactElement, type ReactNode, useState } from 'react';
import { later } from '../../text.ts';
import { ByCode } from './ByCode.tsx';
import { ByPasskey } from './ByPasskey.tsx';
import type { Proving } from './proving.ts';
import './proofs.css';

type Method = StepUpOptions['methods'][number];

type Props = {
  /** The best one first. */
  methods: readonly Method[];
  passkey: PasskeyRequestOptions | undefined;
  proving: Proving;
  /** Asks for other options of the passkey, where those that were refused cannot be used again. */
  onAgain?: () => unknown;
  /** The form of the password, where that is a way. */
  byPassword?: ReactNode;
};

export function Proofs({ methods, passkey, proving, onAgain, byPassword }: Props): ReactElement {
  const texts = later.secondFactors.stepUp;
  const [chosen, setChosen] = useState<string | null>(null);
  const way = methods.find((method) => method === chosen) ?? methods[0];
  const others = methods.filter((method) => method !== way);
  return (
    <>
      {way === 'password' && byPassword}
      {(way === 'totp' || way === 'recovery_code') && <ByCode key={way} kind={way} proving={proving} />}
      {way === 'passkey' && passkey && <ByPasskey options={passkey} proving={proving} onAgain={onAgain} />}
      {others.length > 0 && (
        <div className="proofs-others">
          <span className="muted">{texts.other}</span>
          {others.map((method) => (
            <button key={method} type="button" className="text-button" onClick={() => setChosen(method)}>
              {texts.ways[method]}
            </button>
          ))}
        </div>
      )}
    </>
  );
}
