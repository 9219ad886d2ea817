// The page after a provider: leads on who is signed in, asks for what is left to do, or says what went wrong.
import { type ReactElement, useEffect, useState } from 'react';
import { isCode, noteSession } from '../../client.ts';
import { Frame, noticeOf } from '../../parts.tsx';
import {
  failureIn,
  isConnecting,
  onward,
  providerIn,
  requestIn,
  resultIn,
  signInAddress,
} from '../../provider/address.ts';
import { type PendingIdentity, readPending, readProviders } from '../../provider/calls.ts';
import { via } from '../../provider/text.ts';
import { forgetPending } from '../../sign-in/waiting.ts';
import { t } from '../../text.ts';
import { forgetToken, keepEmail } from '../../token.ts';
import { ConfirmEmail } from './ConfirmEmail.tsx';
import { Connect } from './Connect.tsx';
import { SecondFactor } from './SecondFactor.tsx';
import { SignUp } from './SignUp.tsx';

export function ProviderPage(): ReactElement {
  switch (resultIn()) {
    case 'signed_in':
      return <GoOn isSignIn />;
    case 'connected':
      return <GoOn isSignIn={false} />;
    case 'failed':
      return <Failed />;
    case 'pending':
      return <Waiting />;
    default:
      return <Gone />;
  }
}

const Working = (): ReactElement => (
  <Frame title={t.login.title}>
    <p className="muted">{t.working}</p>
  </Frame>
);

/** The service has started the session, and the next page must know of it. */
function GoOn({ isSignIn }: { isSignIn: boolean }): ReactElement {
  useEffect(() => {
    if (isSignIn) {
      noteSession();
      forgetPending();
      forgetToken();
      keepEmail(null);
    }
    location.replace(onward());
  }, [isSignIn]);
  return <Working />;
}

function Failed(): ReactElement {
  const texts = via.failed;
  const kinds: Readonly<Record<string, string>> = texts.kinds;
  const request = requestIn();
  const wasConnecting = isConnecting();
  const kind = failureIn();
  const text = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  const [name, setName] = useState<string | null>(null);
  useEffect(() => {
    const slug = providerIn();
    // Without its name, the page still says what happened.
    readProviders().then(
      (all) => setName(all.find((one) => one.slug === slug)?.name ?? null),
      () => {},
    );
  }, []);
  return (
    <Frame
      title={wasConnecting ? texts.connecting : texts.title}
      notice={{ kind: 'error', text: text ?? texts.kinds.other }}
    >
      <p className="onward">
        <a className="button" href={wasConnecting ? onward() : signInAddress()}>
          {wasConnecting ? texts.account : texts.again}
        </a>
      </p>
      {name !== null && (
        <p className="muted">
          {texts.provider} <b data-raw>{name}</b>
        </p>
      )}
      {request !== null && (
        <p className="muted">
          {texts.request} <code data-raw>{request}</code>
        </p>
      )}
    </Frame>
  );
}

/** Asks the service what is left to do. */
function Waiting(): ReactElement {
  const [pending, setPending] = useState<PendingIdentity | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    readPending().then(setPending, setError);
  }, []);
  if (isGone || isCode(error, 'pending_identity_not_found')) return <Gone />;
  if (error)
    return (
      <Frame title={t.login.title} notice={noticeOf(error)}>
        <Begin />
      </Frame>
    );
  if (!pending) return <Working />;
  const Step = steps[pending.step];
  return <Step pending={pending} onGone={() => setGone(true)} />;
}

const steps = {
  connect: Connect,
  email: ConfirmEmail,
  sign_up: SignUp,
  second_factor: SecondFactor,
} as const;

const Gone = (): ReactElement => (
  <Frame title={via.gone.title} step="gone">
    <p>{via.gone.text}</p>
    <Begin />
  </Frame>
);

const Begin = (): ReactElement => (
  <p className="onward">
    <a className="button" href={signInAddress()}>
      {via.failed.again}
    </a>
  </p>
);
