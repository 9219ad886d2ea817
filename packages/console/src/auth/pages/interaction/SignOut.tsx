// Asks whether an application may sign the person out, which ends the session of this browser.
import type { ReactElement } from 'react';
import { forgetSession } from '../../client.ts';
import { useAnswer } from '../../interaction/answering.ts';
import { decideSignOut } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { Frame, noticeOf, Onward } from '../../parts.tsx';
import { Choice, nameOf, SignedInAs, type StepProps } from './parts.tsx';

export function SignOut({ id, interaction, onEnd }: StepProps): ReactElement {
  const leave = useAnswer(async () => {
    const next = await decideSignOut(id, 'sign_out');
    forgetSession();
    return next;
  }, onEnd);
  const stay = useAnswer(() => decideSignOut(id, 'stay'), onEnd);
  const isBusy = leave.isPending || stay.isPending;
  return (
    <Frame title={asked.signOut.title} notice={noticeOf(leave.error ?? stay.error)}>
      <p>{asked.signOut.text(nameOf(interaction))}</p>
      <SignedInAs {...interaction} />
      <p className="onward">
        <Choice work={leave} isBusy={isBusy}>
          {asked.signOut.submit}
        </Choice>
        <Choice work={stay} isBusy={isBusy} isSecondary>
          {asked.signOut.stay}
        </Choice>
      </p>
    </Frame>
  );
}

export const SignedOut = (): ReactElement => (
  <Frame title={asked.signOut.done}>
    <p>{asked.signOut.doneText}</p>
    <Onward />
  </Frame>
);
