// Signs in with a passkey alone: by the button, or by a suggestion of the email field.
import { type ReactElement, useEffect } from 'react';
import { later } from '../../later-text.ts';
import { Form, type NoticeContent } from '../../parts.tsx';
import { endRequest } from '../../sign-in/ceremony.ts';
import { passkeyNotice } from '../../sign-in/notices.ts';
import { usePasskeySignIn } from '../../sign-in/usePasskeySignIn.ts';

export type PasskeyProps = {
  /** Says what happened; null when something new begins. */
  onSay: (notice: NoticeContent | null) => void;
  onDone: () => Promise<void>;
};

export function PasskeyButton({ onSay, onDone }: PasskeyProps): ReactElement {
  const work = usePasskeySignIn(() => onSay(null), onDone);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each failure is told once
  useEffect(() => {
    if (work.error) onSay(passkeyNotice(work.error, later.passkey));
  }, [work.error]);
  return (
    <div className="apart">
      <Form work={work} submit={later.passkey.signIn} working={later.passkey.waiting} isSecondary />
      {work.isPending && (
        <button type="button" className="link" onClick={endRequest}>
          {later.passkey.cancel}
        </button>
      )}
    </div>
  );
}
