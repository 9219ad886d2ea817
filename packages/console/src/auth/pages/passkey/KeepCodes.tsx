// Shows the recovery codes of an invitation that was accepted with a passkey, once, and then signs in with it.
// It must not store the codes anywhere.
import { type ReactElement, useEffect, useState } from 'react';
import { addressOf, pageSettings } from '../../../common/page-settings.ts';
import { saveBlob } from '../../../common/save-blob.ts';
import { later } from '../../later-text.ts';
import type { InvitationTexts } from '../../messages/en/invitation.ts';
import { Form, Frame } from '../../parts.tsx';
import { readPasskeyOptions, signInWithPasskey } from '../../sign-in/calls.ts';
import { askForPasskey } from '../../sign-in/ceremony.ts';
import { newPasskeyNotice } from '../../sign-in/new-passkey.ts';
import { useWork } from '../../work.ts';

type Texts = InvitationTexts['codes'];
type Props = { texts: Texts; email: string; codes: readonly string[] };

/** The next page comes only after the person has said that they have kept the codes. Leaving before asks. */
export function KeepCodes({ texts, email, codes }: Props): ReactElement {
  const [isKept, setKept] = useState(false);
  useEffect(() => {
    if (isKept) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isKept]);
  const signIn = useWork(async () => {
    await signInWithPasskey(await askForPasskey(await readPasskeyOptions()));
    location.replace(addressOf('/overview'));
    await new Promise(() => {});
  });
  return (
    <Frame
      title={texts.shownTitle}
      notice={
        newPasskeyNotice(signIn.error, texts.failed) ?? {
          kind: 'good',
          text: texts.ready,
        }
      }
      step="codes"
    >
      <p>{texts.text}</p>
      <ul className="codes code" aria-label={texts.list}>
        {codes.map((code) => (
          <li key={code} data-raw>
            {code}
          </li>
        ))}
      </ul>
      <Ways texts={texts} email={email} list={codes.join('\n')} />
      <Form work={signIn} submit={later.passkey.signIn} working={later.passkey.waiting}>
        <label className="check">
          <input
            type="checkbox"
            required
            checked={isKept}
            onChange={(event) => setKept(event.currentTarget.checked)}
          />
          {texts.kept}
        </label>
      </Form>
    </Frame>
  );
}

type WaysProps = { texts: Texts; email: string; list: string };

/** To keep them. */
function Ways({ texts, email, list }: WaysProps): ReactElement {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(list);
      setCopied(true);
    } catch {
      // The codes can be selected, saved and printed.
    }
  };
  const save = (): void => {
    const text = `${texts.file(pageSettings.serviceName, email)}\n${list}\n`;
    saveBlob(new Blob([text], { type: 'text/plain' }), 'recovery-codes.txt');
  };
  return (
    <p className="code-ways">
      <button type="button" className="link" onClick={() => void copy()}>
        {isCopied ? texts.copied : texts.copy}
      </button>
      <button type="button" className="link" onClick={save}>
        {texts.download}
      </button>
      <button type="button" className="link" onClick={() => print()}>
        {texts.print}
      </button>
    </p>
  );
}
