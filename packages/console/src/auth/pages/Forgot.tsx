// Requests the mail to set a new password. The page says the same whether or not the account exists.
import { type ReactElement, useState } from 'react';
import { formatDuration } from '../../common/format.ts';
import { pageSettings } from '../../common/page-settings.ts';
import { client } from '../client.ts';
import { onwardAddress } from '../interaction/address.ts';
import { EmailField, Form, Frame, noticeOf, Onward } from '../parts.tsx';
import { t } from '../text.ts';
import { keptEmail } from '../token.ts';
import { useWork } from '../work.ts';
import { RequiredProvider } from './ProviderWays.tsx';

const MINUTE_SECONDS = 60;

export function Forgot(): ReactElement {
  const [email, setEmail] = useState(keptEmail);
  const [isSent, setSent] = useState(false);
  const work = useWork(async () => {
    await client.auth.requestPasswordReset(email);
    setSent(true);
  });
  if (isSent)
    return (
      <Frame title={t.forgot.done} notice={{ kind: 'good', text: t.forgot.sent }}>
        <Onward signIn={false} />
      </Frame>
    );
  return (
    <Frame title={t.forgot.title} notice={noticeOf(work.error)}>
      <p>{t.forgot.text(formatDuration(pageSettings.resetLinkMinutes * MINUTE_SECONDS))}</p>
      <RequiredProvider error={work.error} />
      <Form work={work} submit={t.forgot.submit}>
        <EmailField value={email} onChange={setEmail} error={work.error} />
      </Form>
      <p className="links">
        <a href={onwardAddress('/login')}>{t.toSignIn}</a>
      </p>
    </Frame>
  );
}
