// Accepts an invitation with a passkey that the browser makes, in the place of a password.
import { type ReactElement, useEffect } from 'react';
import { client } from '../../client.ts';
import { later } from '../../later-text.ts';
import type { InvitationTexts } from '../../messages/en/invitation.ts';
import { Form, type NoticeContent } from '../../parts.tsx';
import { endRequest } from '../../sign-in/ceremony.ts';
import { makePasskey, newPasskeyNotice } from '../../sign-in/new-passkey.ts';
import { useWork } from '../../work.ts';
import { KeepCodes } from './KeepCodes.tsx';

export type AcceptByPasskeyProps = {
  texts: InvitationTexts['passkey'];
  codeTexts: InvitationTexts['codes'];
  email: string;
  /** Of the link, and the names of the form. */
  body: { token: string; first_name: string; last_name: string };
  /** Called with what the page shows next. */
  onAccepted: (codes: ReactElement) => void;
  /** Null when something new begins. */
  onRefused: (error: unknown, notice: NoticeContent | null) => void;
};

const ACCEPT = '/api/v1/auth/accept-invitation';

/** Asks for the name that the invitation lacks, as the form does. Returns false while it is missing. */
const hasNames = (): boolean =>
  document.querySelector<HTMLInputElement>('[name="first_name"]')?.reportValidity() ?? true;

export function AcceptByPasskey({
  texts,
  codeTexts,
  email,
  body,
  onAccepted,
  onRefused,
}: AcceptByPasskeyProps): ReactElement {
  const work = useWork(async () => {
    onRefused(null, null);
    if (!hasNames()) return;
    const { data } = await client.post(`${ACCEPT}/passkey/options`, { body });
    const passkey = await makePasskey(data.passkey);
    const { recovery_codes: codes = [] } = (await client.post(ACCEPT, { body: { ...body, passkey } })).data;
    onAccepted(<KeepCodes texts={codeTexts} email={email} codes={codes} />);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each failure is told once
  useEffect(() => {
    if (work.error) onRefused(work.error, newPasskeyNotice(work.error, texts.failed));
  }, [work.error]);
  return (
    <section className="apart" aria-labelledby="passkey">
      <h2 id="passkey">{texts.title}</h2>
      <p className="muted">{texts.text}</p>
      <Form work={work} submit={texts.submit} working={later.passkey.waiting} isSecondary />
      {work.isPending && (
        <button type="button" className="link" onClick={endRequest}>
          {later.passkey.cancel}
        </button>
      )}
    </section>
  );
}
