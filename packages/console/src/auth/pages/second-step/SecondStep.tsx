// The second step of a sign-in: one way open, the others one click away.
import { type ReactElement, useEffect, useState } from 'react';
import { later } from '../../later-text.ts';
import { Frame, type NoticeContent } from '../../parts.tsx';
import { isOver, keptPending, type Method, type Pending } from '../../sign-in/pending.ts';
import { canUsePasskeys } from '../../sign-in/waiting.ts';
import { t } from '../../text.ts';
import { CodeStep } from './CodeStep.tsx';
import { LinkStep } from './LinkStep.tsx';
import { PasskeyStep } from './PasskeyStep.tsx';
import type { Step } from './step.tsx';

export type SecondStepProps = {
  /** The token of the link of a recovery, if one was opened. */
  link: string | null;
  /** Called when the link turns out not to work. */
  onDeadLink: () => void;
  /** Leads on. `otherwise`: the path for people whom no page has sent here. */
  onDone: (otherwise?: string) => Promise<void>;
  /** Goes back to the password of this account, and says why. */
  onEnd: (email: string, notice: NoticeContent | null) => void;
};

/** The service knows the likeliest way, but not what this browser can do. */
function firstOf({ methods, passkey }: Pending): Method {
  const hasPasskeys = canUsePasskeys() && passkey !== null;
  return methods.find((method) => method !== 'passkey' || hasPasskeys) ?? methods[0];
}

export function SecondStep(props: SecondStepProps): ReactElement {
  const [pending] = useState(keptPending);
  const isLate = pending !== null && isOver(pending);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the step opens
  useEffect(() => {
    if (!pending || isLate)
      props.onEnd(pending?.email ?? '', isLate ? { kind: 'error', text: later.secondStep.expired } : null);
  }, []);
  if (!pending || isLate) return <Frame title={t.secondStep} />;
  return <OpenStep {...props} pending={pending} />;
}

function OpenStep({ pending, link, onDeadLink, onDone, onEnd }: SecondStepProps & { pending: Pending }) {
  const [method, setMethod] = useState(() => firstOf(pending));
  const [isTrusted, setTrusted] = useState(false);
  const step: Step = {
    pending,
    method,
    onMethod: setMethod,
    isTrusted,
    setTrusted,
    onDone,
    onEnd: (notice) => onEnd(pending.email, notice),
  };
  if (method === 'passkey') return <PasskeyStep {...step} />;
  if (method === 'recovery_link') return <LinkStep step={step} link={link} onDeadLink={onDeadLink} />;
  return <CodeStep key={method} {...step} method={method} />;
}
