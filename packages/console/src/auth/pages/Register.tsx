// Creates an account. It works after its email has been confirmed.
import { type ReactElement, useState } from 'react';
import { pageSettings } from '../../common/page-settings.ts';
import { client, fieldMessage, isCode } from '../client.ts';
import { onwardAddress } from '../interaction/address.ts';
import {
  EmailField,
  Field,
  Form,
  Frame,
  type NoticeContent,
  noticeOf,
  PasswordField,
  usePasswordRules,
} from '../parts.tsx';
import { t } from '../text.ts';
import { keepEmail } from '../token.ts';
import { useWork } from '../work.ts';
import type { SignInRequest } from './Login.tsx';
import { RequiredProvider } from './ProviderWays.tsx';

export function Register({ request }: { token: string | null; request?: SignInRequest }): ReactElement {
  const [first, setFirst] = useState('');
  const [last, setLast] = useState('');
  const [email, setEmail] = useState(request?.email ?? '');
  const [password, setPassword] = useState('');
  const rules = usePasswordRules();
  const work = useWork(async () => {
    await client.auth.register({ first_name: first, last_name: last, email, password });
    keepEmail(email);
    location.assign(onwardAddress('/check-email'));
    await new Promise(() => {});
  });
  const isTaken = isCode(work.error, 'email_taken');
  const notice: NoticeContent | null = isTaken
    ? { kind: 'error', text: t.register.taken }
    : noticeOf(work.error, rules);
  return (
    <Frame title={t.register.title} notice={notice}>
      {request && <p className="muted">{request.lead}</p>}
      {isTaken && (
        <p className="onward">
          <a className="button" href={onwardAddress('/login')} onClick={() => keepEmail(email)}>
            {t.login.submit}
          </a>
          <a className="button secondary" href={pageSettings.forgotUrl ?? onwardAddress('/forgot')}>
            {t.register.reset}
          </a>
        </p>
      )}
      <RequiredProvider error={work.error} />
      <Form work={work} submit={t.register.submit}>
        <div className="pair">
          <Field
            label={t.firstName}
            name="first_name"
            autoComplete="given-name"
            required
            value={first}
            error={fieldMessage(work.error, 'first_name')}
            onChange={(event) => setFirst(event.currentTarget.value)}
          />
          <Field
            label={t.lastName}
            name="last_name"
            autoComplete="family-name"
            value={last}
            error={fieldMessage(work.error, 'last_name')}
            onChange={(event) => setLast(event.currentTarget.value)}
          />
        </div>
        <EmailField value={email} onChange={setEmail} error={work.error} />
        <PasswordField
          label={t.password}
          value={password}
          onChange={setPassword}
          autoComplete="new-password"
          rules={rules}
          error={work.error}
        />
      </Form>
      <p className="links">
        <span>
          {t.register.known} <a href={onwardAddress('/login')}>{t.login.submit}</a>
        </span>
      </p>
    </Frame>
  );
}
