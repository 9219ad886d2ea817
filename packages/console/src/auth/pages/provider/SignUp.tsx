// Tells somebody whom the provider knows that there is no account for them, and whom to ask.
import type { ReactElement } from 'react';
import { Frame } from '../../parts.tsx';
import { via } from '../../provider/text.ts';
import { type WaitingProps, Withdraw } from './waiting.tsx';

export function SignUp({ pending: { provider, email } }: WaitingProps): ReactElement {
  const texts = via.signUp;
  return (
    <Frame title={texts.title} step="sign_up">
      <p data-raw>{texts.text(provider.name)}</p>
      {email !== null && (
        <p className="muted">
          {texts.address}: <b data-raw>{email}</b>
        </p>
      )}
      <p>{texts.ask}</p>
      <Withdraw text={via.back} />
    </Frame>
  );
}
