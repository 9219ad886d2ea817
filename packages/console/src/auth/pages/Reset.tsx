// Sets a new password with the token of the mailed link. A dead link is told before anything is typed.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useEffect, useState } from 'react';
import { addressOf, pageSettings } from '../../common/page-settings.ts';
import { client, isCode } from '../client.ts';
import { AccountField, Form, Frame, noticeOf, Onward, PasswordField, usePasswordRules } from '../parts.tsx';
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';
import { useWork } from '../work.ts';

type Step = 'checking' | 'ready' | 'done' | 'expired' | 'missing';
type LinkState = { isUsable: boolean; email?: string | undefined };

export function Reset({ token }: { token: string | null }): ReactElement {
  const [step, setStep] = useState<Step>(token ? 'checking' : 'missing');
  const [email, setEmail] = useState<string>();
  useEffect(() => {
    if (!token) return;
    const abort = new AbortController();
    checkLink(token, abort.signal).then(
      ({ isUsable, email: found }) => {
        if (!isUsable) forgetToken();
        setEmail(found);
        setStep(isUsable ? 'ready' : 'expired');
      },
      () => undefined,
    );
    return () => abort.abort();
  }, [token]);
  const end = (next: 'done' | 'expired'): void => {
    forgetToken();
    setStep(next);
  };
  if (step === 'checking')
    return (
      <Frame title={t.reset.title}>
        <p className="muted">{t.verify.checking}</p>
      </Frame>
    );
  if (step === 'done')
    return (
      <Frame title={t.reset.done} notice={{ kind: 'good', text: t.reset.doneText }}>
        <Onward />
      </Frame>
    );
  if (step === 'ready' && token) return <NewPassword token={token} email={email} onEnd={end} />;
  return (
    <Frame title={t.broken} notice={{ kind: 'error', text: t.reset[step === 'missing' ? step : 'expired'] }}>
      <p className="onward">
        <a className="button" href={pageSettings.forgotUrl ?? addressOf('/forgot')}>
          {t.reset.again}
        </a>
      </p>
    </Frame>
  );
}

/** Without a response, the form is offered: sending it shows the failure. Rejects only when it is aborted. */
async function checkLink(token: string, signal: AbortSignal): Promise<LinkState> {
  try {
    const { result } = await client.request('POST /api/v1/auth/links/check', {
      body: { purpose: 'reset_password', token },
      signal,
    });
    const { valid, email } = result.data;
    return { isUsable: valid, email };
  } catch (error) {
    if (error instanceof CastellanError) return { isUsable: true };
    throw error;
  }
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
