// Tells somebody that an application is not open to them, what they lack, and whom to ask.
import type { ReactElement } from 'react';
import { useAnswer } from '../../interaction/answering.ts';
import { cancel } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { Frame, noticeOf } from '../../parts.tsx';
import { Choice, nameOf, SignedInAs, type StepProps } from './parts.tsx';

export function Refused({ id, interaction, onEnd }: StepProps): ReactElement {
  const back = useAnswer(() => cancel(id), onEnd);
  const name = nameOf(interaction);
  const texts = asked.refused;
  const { required_permission: permission } = interaction;
  return (
    <Frame title={texts.title(name)} notice={noticeOf(back.error)}>
      <SignedInAs {...interaction} />
      <p>{permission === null ? texts.text : texts.permission}</p>
      {permission !== null && <code>{permission}</code>}
      <p>{permission === null ? texts.helpWithout : texts.help}</p>
      <p className="onward">
        <Choice work={back} isBusy={back.isPending}>
          {texts.back(name)}
        </Choice>
      </p>
    </Frame>
  );
}
