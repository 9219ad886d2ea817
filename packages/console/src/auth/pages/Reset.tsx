// Sets a new password with the token of the mailed link. A dead link is told before anything is typed.
import { type ReactElement, useState } from 'react';
import { client, isCode } from '../client.ts';
import { Broken, Checking, Done, useLink } from '../links/link.tsx';
import { AccountField, Form, Frame, noticeOf, PasswordField, usePasswordRules } from '../parts.tsx';
import { t } from '../text.ts';
import { useWork } from '../work.ts';

type Step = 'done' | 'expired' | 'missing' | { email?: string | undefined };

export function Reset({ token }: { token: string | null }): ReactElement {
  const [step, go] = useLink<Step>({
    token,
    purpose: 'reset_password',
    missing: 'missing',
    stepOf: (found) => (found && !found.valid ? 'expired' : { email: found?.email }),
    isOver: (next) => typeof next === 'string',
  });
  if (step === null) return <Checking title={t.reset.title} />;
  if (step === 'done') return <Done title={t.reset.done} text={t.reset.doneText} />;
  if (typeof step === 'object' && token) return <NewPassword token={token} email={step.email} onEnd={go} />;
  return <Broken text={t.reset[step === 'missing' ? step : 'expired']} canAskAgain />;
}

type NewPasswordProps = {
  token: string;
  email: string | undefined;
  onEnd: (step: 'done' | 'expired') => void;
};

function NewPassword({ token, email, onEnd }: NewPasswordProps): ReactElement {
  const [password, setPassword] = useState('');
  const rules = usePasswordRules();
  const work = useWork(async () => {
    try {
      await client.auth.resetPassword({ token, new_password: password });
      onEnd('done');
    } catch (error) {
      if (!isCode(error, 'reset_token_invalid')) throw error;
      onEnd('expired');
    }
  });
  return (
    <Frame title={t.reset.title} notice={noticeOf(work.error, rules)}>
      <Form work={work} submit={t.reset.submit}>
        {email !== undefined && <AccountField email={email} />}
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
