// Accepts an invitation with a passkey that the browser makes, in the place of a password.
import { type ReactElement, useEffect } from 'react';
import { client } from '../../client.ts';
import { later } from '../../later-text.ts';
import type { InvitationTexts } from '../../messages/en/invitation.ts';
import { Form, type NoticeContent } from '../../parts.tsx';
import { endRequest } from '../../sign-in/ceremony.ts';
import { makePasskey, newPasskeyNotice } from '../../sign-in/new-passkey.ts';
import { useWork } from '../../work.ts';

export type AcceptByPasskeyProps = {
  texts: InvitationTexts['passkey'];
  /** Of the link, and the names of the form. */
  body: { token: string; first_name: string; last_name: string };
  /** Whether the form has what the service would ask for. */
  mayBegin: () => boolean;
  onAccepted: (recoveryCodes: readonly string[]) => void;
  /** Null when something new begins. */
  onRefused: (error: unknown, notice: NoticeContent | null) => void;
};

const ACCEPT = '/api/v1/auth/accept-invitation';

export function AcceptByPasskey({
  texts,
  body,
  mayBegin,
  onAccepted,
  onRefused,
}: AcceptByPasskeyProps): ReactElement {
  const work = useWork(async () => {
    onRefused(null, null);
    if (!mayBegin()) return;
    const { data } = await client.post(`${ACCEPT}/passkey/options`, { body });
    const passkey = await makePasskey(data.passkey);
    const accepted = await client.post(ACCEPT, { body: { ...body, passkey } });
    onAccepted(accepted.data.recovery_codes ?? []);
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
