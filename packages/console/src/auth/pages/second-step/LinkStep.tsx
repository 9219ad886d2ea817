// Confirms a sign-in whose second factor an administrator has reset, with the link that came by mail or by hand.
import { type ReactElement, useEffect, useState } from 'react';
import { isCode } from '../../client.ts';
import { later } from '../../later-text.ts';
import { Form, type NoticeContent, noticeOf } from '../../parts.tsx';
import { mailRecoveryLink } from '../../sign-in/calls.ts';
import { useCountdown } from '../../work.ts';
import { type Step, StepFrame, useProof, useStepWork } from './step.tsx';

/** The time before a mail can be requested again. */
const RESEND_MS = 60_000;

type LinkProps = { step: Step; link: string | null; onDeadLink: () => void };

export function LinkStep({ step, link, onDeadLink }: LinkProps): ReactElement {
  const [isDead, setDead] = useState(false);
  if (link === null) return <WaitForLink step={step} isDead={isDead} />;
  const end = (): void => {
    setDead(true);
    onDeadLink();
  };
  return <UseLink step={step} link={link} onDead={end} />;
}

/** The link was opened before the password was typed, so it is used at once. */
function UseLink({ step, link, onDead }: { step: Step; link: string; onDead: () => void }): ReactElement {
  // People set up a new factor next.
  const work = useProof(step, () => ({ recovery_token: link }), '/account');
  const isDead = isCode(work.error, 'second_factor_invalid');
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the step opens
  useEffect(() => work.start(), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the service has refused it
  useEffect(() => {
    if (isDead) onDead();
  }, [isDead]);
  return (
    <StepFrame step={step} notice={isDead ? null : noticeOf(work.error)}>
      <p>{later.secondStep.linkReady}</p>
      <Form work={work} submit={later.secondStep.useLink} />
    </StepFrame>
  );
}

function WaitForLink({ step, isDead }: { step: Step; isDead: boolean }): ReactElement {
  const [said, setSaid] = useState<NoticeContent | null>(() =>
    isDead ? { kind: 'error', text: later.secondStep.linkDead } : null,
  );
  const [until, setUntil] = useState(0);
  const left = useCountdown(until);
  const work = useStepWork(step, async () => {
    setSaid(null);
    await mailRecoveryLink(step.pending.token);
    setUntil(Date.now() + RESEND_MS);
    setSaid({ kind: 'good', text: later.secondStep.linkSent });
  });
  return (
    <StepFrame step={step} notice={noticeOf(work.error) ?? said}>
      <p>{later.secondStep.link}</p>
      <Form
        work={{ ...work, wait: Math.max(work.wait, left) }}
        submit={later.secondStep.sendLink}
        waiting={later.secondStep.sendLinkIn}
        isSecondary
      />
    </StepFrame>
  );
}
