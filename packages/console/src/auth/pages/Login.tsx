// Signs in and leads on to the page that asked for it.
import { type ReactElement, useState } from 'react';
import { addressOf, pageSettings } from '../../common/page-settings.ts';
import { client, isCode } from '../client.ts';
import { pathAfterSignIn } from '../next.ts';
import { EmailField, Form, Frame, type NoticeContent, noticeOf, PasswordField } from '../parts.tsx';
import { t } from '../text.ts';
import { keepEmail, keptEmail } from '../token.ts';
import { useWork } from '../work.ts';

export function Login(): ReactElement {
  const [email, setEmail] = useState(keptEmail);
  const [password, setPassword] = useState('');
  const [sent, setSent] = useState<NoticeContent | null>(null);
  const signIn = useWork(async () => {
    setSent(null);
    await client.auth.signIn({ email, password });
    keepEmail(null);
    location.replace(pathAfterSignIn(location.search, location.origin, addressOf('/overview')));
    // The form stays as it is until the next page is there.
    await new Promise(() => {});
  });
  const resend = useWork(async () => {
    await client.auth.resendVerificationEmail(email);
    setSent({ kind: 'good', text: t.verify.sent });
  });
  const isUnverified = isCode(signIn.error, 'email_not_verified');
  const refusal: NoticeContent | null = isUnverified
    ? { kind: 'error', text: t.login.unverified }
    : noticeOf(signIn.error);
  return (
    <Frame title={t.login.title} notice={noticeOf(resend.error) ?? sent ?? refusal}>
      {isUnverified && !sent && <Form work={resend} submit={t.login.resend} isSecondary />}
      <Form work={signIn} submit={t.login.submit}>
        <EmailField value={email} onChange={setEmail} error={signIn.error} hasFocus />
        <PasswordField
          label={t.password}
          value={password}
          onChange={setPassword}
          autoComplete="current-password"
        />
      </Form>
      <p className="links">
        <a href={pageSettings.forgotUrl ?? addressOf('/forgot')}>{t.login.forgot}</a>
        <span>
          {t.login.noAccount} <a href={addressOf('/register')}>{t.login.register}</a>
        </span>
      </p>
    </Frame>
  );
}
