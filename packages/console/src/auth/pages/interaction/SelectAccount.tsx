// Asks whether the person goes on with the account of this browser.
import type { ReactElement } from 'react';
import { useAnswer } from '../../interaction/answering.ts';
import { chooseAccount } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { Frame, noticeOf } from '../../parts.tsx';
import { Choice, nameOf, SignedInAs, type StepProps } from './parts.tsx';

export function SelectAccount({ id, interaction, onEnd }: StepProps): ReactElement {
  const stay = useAnswer(() => chooseAccount(id, 'continue'), onEnd);
  const other = useAnswer(() => chooseAccount(id, 'switch'), onEnd);
  const isBusy = stay.isPending || other.isPending;
  return (
    <Frame title={asked.choose.title} notice={noticeOf(stay.error ?? other.error)}>
      <p className="muted">{asked.to(nameOf(interaction))}</p>
      <SignedInAs {...interaction} />
      <p className="onward">
        <Choice work={stay} isBusy={isBusy}>
          {asked.choose.submit(interaction.account?.name ?? '')}
        </Choice>
        <Choice work={other} isBusy={isBusy} isSecondary>
          {asked.otherAccount}
        </Choice>
      </p>
    </Frame>
  );
}
