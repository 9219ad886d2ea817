// Lets somebody who is signed in prove again, or more strongly, that it is them: the best way open, the others one click away.
import type { StepUpOptions } from '@castellan/sdk';
import { type ReactElement, type ReactNode, useEffect, useState } from 'react';
import { addressOf } from '../../../../common/page-settings.ts';
import { client, isCode } from '../../../client.ts';
import { asked } from '../../../interaction/text.ts';
import { later } from '../../../later-text.ts';
import { Frame, type NoticeContent, noticeOf } from '../../../parts.tsx';
import { canUsePasskeys } from '../../../sign-in/waiting.ts';
import { t } from '../../../text.ts';
import { ProviderWays } from '../../ProviderWays.tsx';
import { nameOf, SignedInAs, type StepProps } from '../parts.tsx';
import { CodeProof, PasskeyProof, PasswordProof } from './ways.tsx';

type Way = StepUpOptions['methods'][number];

export function ProofStep(props: StepProps): ReactElement {
  const { interaction } = props;
  const [ways, setWays] = useState<StepUpOptions | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn has another challenge
  useEffect(() => {
    const abort = new AbortController();
    // The page was loaded anew, so it has no access token yet.
    const read = async (): Promise<StepUpOptions> => {
      await client.auth.restore();
      return client.auth.stepUpWays(interaction.required_acr ?? undefined, { signal: abort.signal });
    };
    read().then(
      (found) => {
        setError(null);
        setWays(found);
      },
      (failure) => {
        if (!abort.signal.aborted) setError(failure);
      },
    );
    return () => abort.abort();
  }, [turn]);
  if (ways) return <OpenProof {...props} ways={ways} onAgain={() => setTurn(turn + 1)} />;
  if (isCode(error, 'no_password') && interaction.providers.length > 0)
    return <ProviderProof {...props} error={error} />;
  const isMissing = isCode(error, 'second_factor_enrolment_required');
  const notice: NoticeContent | null = isMissing
    ? { kind: 'error', text: asked.proof.enrol }
    : noticeOf(error);
  return (
    <ProofFrame {...props} notice={notice}>
      {!error && <p className="muted">{t.working}</p>}
      {Boolean(error) && (
        <p className="onward">
          <a className="button" href={isMissing ? addressOf('/account') : location.href}>
            {isMissing ? asked.proof.account : asked.retry}
          </a>
        </p>
      )}
    </ProofFrame>
  );
}

/** An account without a password and a factor proves who it is where it signs in. */
function ProviderProof({ error, ...props }: StepProps & { error: unknown }): ReactElement {
  const [notice, setNotice] = useState(noticeOf(error));
  return (
    <ProofFrame {...props} notice={notice}>
      <ProviderWays known={props.interaction.providers} onSay={setNotice} />
    </ProofFrame>
  );
}

/** The service knows the likeliest way, but not what this browser can do. */
function firstOf({ methods, passkey }: StepUpOptions): Way {
  const hasPasskeys = canUsePasskeys() && passkey !== undefined;
  return methods.find((way) => way !== 'passkey' || hasPasskeys) ?? methods[0] ?? 'password';
}

type OpenProps = StepProps & { ways: StepUpOptions; onAgain: () => void };

function OpenProof({ ways, onAgain, ...props }: OpenProps): ReactElement {
  const [way, setWay] = useState(() => firstOf(ways));
  const frame = (notice: NoticeContent | null, children: ReactNode): ReactElement => (
    <ProofFrame {...props} notice={notice} step={way}>
      {children}
      <OtherWays ways={ways.methods.filter((one) => one !== way)} onWay={setWay} />
    </ProofFrame>
  );
  if (way === 'password') return <PasswordProof {...props} frame={frame} />;
  if (way === 'passkey')
    return <PasskeyProof {...props} frame={frame} options={ways.passkey} onAgain={onAgain} />;
  return <CodeProof key={way} {...props} frame={frame} way={way} />;
}

function OtherWays({
  ways,
  onWay,
}: {
  ways: readonly Way[];
  onWay: (way: Way) => void;
}): ReactElement | null {
  if (ways.length === 0) return null;
  return (
    <div className="apart">
      <h2>{later.secondStep.otherWays}</h2>
      <ul>
        {ways.map((one) => (
          <li key={one}>
            <button type="button" className="link" onClick={() => onWay(one)}>
              {one === 'password' ? t.password : later.secondStep.methods[one]}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

type FrameProps = StepProps & { notice: NoticeContent | null; step?: string; children: ReactNode };

function ProofFrame({ interaction, notice, step, children }: FrameProps): ReactElement {
  const isStronger = interaction.step === 'step_up';
  return (
    <Frame title={t.secondStep} notice={notice} step={step}>
      <p>{asked.proof[isStronger ? 'stronger' : 'again'](nameOf(interaction))}</p>
      <SignedInAs {...interaction} />
      {children}
    </Frame>
  );
}
