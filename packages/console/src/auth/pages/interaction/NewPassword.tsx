// Changes a password that must be changed before the person goes on to the application.
import { type ReactElement, useState } from 'react';
import { client } from '../../client.ts';
import { asked } from '../../interaction/text.ts';
import { AccountField, Form, Frame, noticeOf, PasswordField, usePasswordRules } from '../../parts.tsx';
import { t } from '../../text.ts';
import { useWork } from '../../work.ts';
import { nameOf, type StepProps } from './parts.tsx';

export function NewPassword({
  interaction,
  onDone,
}: StepProps & { onDone: () => Promise<void> }): ReactElement {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const rules = usePasswordRules();
  const work = useWork(async () => {
    // The page was loaded anew, so it has no access token yet.
    await client.auth.restore();
    await client.auth.changePassword({ current_password: current, new_password: password });
    await onDone();
  });
  const { account } = interaction;
  return (
    <Frame title={asked.password.title} notice={noticeOf(work.error, rules)}>
      <p className="muted">{asked.to(nameOf(interaction))}</p>
      <p>{asked.password.text}</p>
      <Form work={work} submit={asked.password.submit}>
        {account && <AccountField email={account.email} />}
        <PasswordField
          label={asked.password.current}
          value={current}
          onChange={setCurrent}
          autoComplete="current-password"
        />
        <PasswordField
          label={t.newPassword}
          value={password}
          onChange={setPassword}
          autoComplete="new-password"
          rules={rules}
          error={work.error}
        />
      </Form>
    </Frame>
  );
}
