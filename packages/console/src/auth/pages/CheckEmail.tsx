// Says where the mail went that confirms an email, and sends it again.
import { type ReactElement, useState } from 'react';
import { client } from '../client.ts';
import { onwardAddress } from '../interaction/address.ts';
import { EmailField, Form, Frame, type NoticeContent, noticeOf } from '../parts.tsx';
import { t } from '../text.ts';
import { keptEmail } from '../token.ts';
import { useCountdown, useWork } from '../work.ts';

/** The time before a mail can be requested again. */
const RESEND_MS = 60_000;

export function CheckEmail(): ReactElement {
  const [known] = useState(keptEmail);
  const [email, setEmail] = useState(known);
  const [sent, setSent] = useState<NoticeContent | null>(null);
  const [until, setUntil] = useState(() => (known ? Date.now() + RESEND_MS : 0));
  const left = useCountdown(until);
  const work = useWork(async () => {
    setSent(null);
    await client.auth.resendVerificationEmail(email);
    setUntil(Date.now() + RESEND_MS);
    setSent({ kind: 'good', text: t.checkEmail.sent });
  });
  return (
    <Frame title={t.checkEmail.title} notice={noticeOf(work.error) ?? sent}>
      <p>{known ? t.checkEmail.text(known) : t.checkEmail.textWithout}</p>
      <p className="muted">{t.checkEmail.help}</p>
      <Form
        work={{ ...work, wait: Math.max(work.wait, left) }}
        submit={t.checkEmail.resend}
        waiting={t.checkEmail.resendIn}
        isSecondary
      >
        {!known && <EmailField value={email} onChange={setEmail} error={work.error} />}
      </Form>
      <p className="links">
        <a href={onwardAddress('/login')}>{t.toSignIn}</a>
      </p>
    </Frame>
  );
}
