// Signs in with a password or a passkey, and leads on to the page that asked for it. An account with a second factor goes on
// to the second step, at the same address, so that password managers keep the name.
// Passkeys and the second step must load on demand: most people never see them.
import { type ReactElement, useEffect, useState } from 'react';
import { addressOf } from '../../common/page-settings.ts';
import { pathAfterSignIn } from '../next.ts';
import { Frame, type NoticeContent } from '../parts.tsx';
import type { Provider } from '../provider/calls.ts';
import { forgetPending, hasPending } from '../sign-in/waiting.ts';
import { t } from '../text.ts';
import { forgetToken, keepEmail, keptEmail } from '../token.ts';
import { PasswordStep } from './PasswordStep.tsx';
import type { SecondStep, SecondStepProps } from './second-step/SecondStep.tsx';

const loadSecondStep = () => import('./second-step/load.ts');

/** The request of an application that the sign-in is for. */
export type SignInRequest = {
  /** Such as "to continue to Grafana". */
  lead: string;
  /** Fills the field of the email. */
  email: string | null;
  /** Where the browser goes after it. */
  next: string;
  providers: readonly Provider[];
};

/** The form stays as it is until the next page is there. `otherwise`: the path for people whom no page has sent here. */
async function leadOn(request: SignInRequest | undefined, otherwise = '/overview'): Promise<void> {
  forgetPending();
  forgetToken();
  keepEmail(null);
  location.replace(request?.next ?? pathAfterSignIn(location.search, location.origin, addressOf(otherwise)));
  await new Promise(() => {});
}

/** Why people are back at the password. */
type Return = { email: string; notice: NoticeContent | null };

/** `token`: of the link of a recovery. */
export function Login({ token, request }: { token: string | null; request?: SignInRequest }): ReactElement {
  const goOnward = (otherwise?: string): Promise<void> => leadOn(request, otherwise);
  const [isSecond, setSecond] = useState(hasPending);
  const [back, setBack] = useState<Return | null>(null);
  const [link, setLink] = useState(token);
  if (!isSecond) {
    const goOn = async (refusal: unknown, email: string): Promise<void> => {
      await (await loadSecondStep()).beginSecondStep(refusal, email);
      setSecond(true);
    };
    return (
      <PasswordStep
        email={back?.email ?? (keptEmail() || (request?.email ?? ''))}
        lead={request?.lead}
        notice={back?.notice ?? null}
        providers={request?.providers}
        isReturn={back !== null}
        hasLink={link !== null}
        onSecondStep={goOn}
        onDone={goOnward}
      />
    );
  }
  const end = (email: string, notice: NoticeContent | null): void => {
    forgetPending();
    setBack({ email, notice });
    setSecond(false);
  };
  const dropLink = (): void => {
    forgetToken();
    setLink(null);
  };
  return <LoadedSecondStep link={link} onDeadLink={dropLink} onDone={goOnward} onEnd={end} />;
}

/** After the password it is loaded already; after a reload, it takes a moment. */
function LoadedSecondStep(props: SecondStepProps): ReactElement {
  const [Step, setStep] = useState<typeof SecondStep | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the step opens
  useEffect(() => {
    loadSecondStep()
      .then(({ secondStep }) => secondStep())
      .then(
        (step) => setStep(() => step),
        () => props.onEnd('', { kind: 'error', text: t.offline }),
      );
  }, []);
  return Step ? <Step {...props} /> : <Frame title={t.secondStep} />;
}
