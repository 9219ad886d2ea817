// The page between an application's request and its answer: it asks the service what is to do, and shows that.
import { type ReactElement, useEffect, useState } from 'react';
import { addressOf } from '../../../common/page-settings.ts';
import { isCode } from '../../client.ts';
import { interactionId, onwardAddress } from '../../interaction/address.ts';
import { type End, follow } from '../../interaction/answering.ts';
import { type Interaction as Asked, readInteraction } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { Frame, noticeOf, Onward } from '../../parts.tsx';
import { t } from '../../text.ts';
import { Login } from '../Login.tsx';
import { Register } from '../Register.tsx';
import { Consent } from './Consent.tsx';
import { NewPassword } from './NewPassword.tsx';
import { nameOf, type StepProps } from './parts.tsx';
import type { ProofStep } from './proof/ProofStep.tsx';
import { Refused } from './Refused.tsx';
import { SelectAccount } from './SelectAccount.tsx';
import { SignOut } from './SignOut.tsx';

/** The request of a device goes on at its own page, others at the operation that browsers were sent to. */
const afterSignIn = (): string =>
  location.pathname === addressOf('/device')
    ? onwardAddress('/device')
    : onwardAddress('/api/v1/oauth/authorize');

export function Interaction({ token }: { token: string | null }): ReactElement {
  const id = interactionId() ?? '';
  const [interaction, setInteraction] = useState<Asked | null>(null);
  const [end, setEnd] = useState<End | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (id === '') return setEnd('finished');
    const abort = new AbortController();
    readInteraction(id, abort.signal).then(setInteraction, (failure) => {
      if (abort.signal.aborted) return;
      if (isCode(failure, 'interaction_not_found')) setEnd('finished');
      else setError(failure);
    });
    return () => abort.abort();
  }, [id]);
  if (end) return <Ended end={end} />;
  if (error)
    return (
      <Frame title={t.login.title} notice={noticeOf(error)}>
        <p className="onward">
          <a className="button" href={location.href}>
            {asked.retry}
          </a>
        </p>
      </Frame>
    );
  if (!interaction)
    return (
      <Frame title={t.login.title}>
        <p className="muted">{t.working}</p>
      </Frame>
    );
  return <Step id={id} interaction={interaction} onEnd={setEnd} token={token} />;
}

function Step({ token, ...props }: StepProps & { token: string | null }): ReactElement {
  const { interaction } = props;
  const request = {
    lead: asked.to(nameOf(interaction)),
    email: interaction.login_hint,
    next: afterSignIn(),
    providers: interaction.providers,
  };
  switch (interaction.step) {
    case 'sign_in':
      return location.pathname === addressOf('/register') ? (
        <Register token={null} request={request} />
      ) : (
        <Login token={token} request={request} />
      );
    case 'reauthenticate':
    case 'step_up':
      return <LoadedProof {...props} />;
    case 'select_account':
      return <SelectAccount {...props} />;
    case 'change_password':
      return <NewPassword {...props} onDone={() => follow(afterSignIn())} />;
    case 'refused':
      return <Refused {...props} />;
    case 'sign_out':
      return <SignOut {...props} />;
    case 'consent':
    case 'device':
      return <Consent {...props} />;
  }
}

/** Most people never see it. */
function LoadedProof(props: StepProps): ReactElement {
  const [Proof, setProof] = useState<typeof ProofStep | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    import('./proof/load.ts')
      .then(({ proofStep }) => proofStep())
      .then((step) => setProof(() => step), setError);
  }, []);
  return Proof ? (
    <Proof {...props} />
  ) : (
    <Frame title={t.secondStep} notice={error ? { kind: 'error', text: t.offline } : null} />
  );
}

export function Ended({ end }: { end: End }): ReactElement {
  const texts = end === 'left' ? asked.left : asked.finished;
  return (
    <Frame title={texts.title} step={end}>
      <p>{texts.text}</p>
      <Onward signIn={false} />
    </Frame>
  );
}
