// Confirms a sign-in with a passkey or a security key. Nothing starts by itself: dialogs that come unasked are refused unread.
import { type ReactElement, useEffect } from 'react';
import { later } from '../../later-text.ts';
import { Form } from '../../parts.tsx';
import { completeSignIn } from '../../sign-in/calls.ts';
import { passkeyNotice } from '../../sign-in/notices.ts';
import { reportUnknown } from '../../sign-in/passkeys.ts';
import { canUsePasskeys } from '../../sign-in/waiting.ts';
import { type Step, StepFrame, TrustBox, useStepWork } from './step.tsx';

const loadCeremony = () => import('../../sign-in/ceremony.ts');

/** Ends the request that waits, if one does. */
const cancel = (): void => void loadCeremony().then(({ endRequest }) => endRequest());

/** Asks for a passkey and sends it. */
async function prove({ pending, isTrusted }: Step): Promise<void> {
  const { passkey: options, token } = pending;
  if (!options) return;
  const passkey = await (await loadCeremony()).askForPasskey(options);
  try {
    await completeSignIn(token, { passkey }, isTrusted);
  } catch (error) {
    await reportUnknown(error, options, passkey);
    throw error;
  }
}

export function PasskeyStep(step: Step): ReactElement {
  const work = useStepWork(step, async () => {
    await prove(step);
    await step.onDone();
  });
  useEffect(() => {
    // The button must not wait for the library: some browsers ask for a click a moment ago.
    loadCeremony().catch(() => {});
    return cancel;
  }, []);
  if (!canUsePasskeys() || !step.pending.passkey)
    return (
      <StepFrame step={step} notice={null}>
        <p>{later.secondStep.noPasskey}</p>
      </StepFrame>
    );
  const notice = passkeyNotice(work.error, {
    failed: later.secondStep.failed,
    unknown: later.secondStep.unknownPasskey,
  });
  return (
    <StepFrame step={step} notice={notice}>
      <p>{later.secondStep.passkey}</p>
      <Form work={work} submit={later.secondStep.usePasskey} working={later.passkey.waiting}>
        <TrustBox {...step} />
      </Form>
      {work.isPending && (
        <button type="button" className="link" onClick={cancel}>
          {later.passkey.cancel}
        </button>
      )}
    </StepFrame>
  );
}
