// Confirms an email on a click, never automatically, because mail scanners open links too. A person who did not register
// can decline the registration, or keep the account with a new password.
import { type ReactElement, useState } from 'react';
import { client, isCode } from '../client.ts';
import { Checking, Done, useLink } from '../links/link.tsx';
import {
  AccountField,
  EmailField,
  Form,
  Frame,
  type NoticeContent,
  noticeOf,
  PasswordField,
  usePasswordRules,
} from '../parts.tsx';
import { t } from '../text.ts';
import { useWork } from '../work.ts';

type Step =
  | { name: 'ready'; canDecline: boolean; email?: string | undefined }
  | { name: 'new link'; notice: NoticeContent }
  | { name: 'done'; title: string; text: string; canSignIn: boolean };

const newLink = (text: string): Step => ({ name: 'new link', notice: { kind: 'error', text } });
const done = (title: string, text: string, canSignIn = true): Step => ({
  name: 'done',
  title,
  text,
  canSignIn,
});

/** Returns what a refusal of the link itself means; null for any other failure. */
function stepAfter(error: unknown): Step | null {
  if (isCode(error, 'already_verified')) return done(t.verify.done, t.verify.before);
  return isCode(error, 'verification_token_invalid') ? newLink(t.verify.expired) : null;
}

export function VerifyEmail({ token }: { token: string | null }): ReactElement {
  const [step, go] = useLink<Step>({
    token,
    purpose: 'verify_email',
    missing: newLink(t.verify.missing),
    stepOf: (found) => {
      if (!found) return { name: 'ready', canDecline: true };
      if (found.already_verified) return done(t.verify.done, t.verify.before);
      const { valid, declinable, email } = found;
      return valid ? { name: 'ready', canDecline: declinable, email } : newLink(t.verify.expired);
    },
    isOver: (next) => next.name !== 'ready',
  });
  if (step === null) return <Checking title={t.verify.title} />;
  if (step.name === 'done') return <Done title={step.title} text={step.text} signIn={step.canSignIn} />;
  if (step.name === 'new link' || !token) return <NewLink step={step} onStep={go} />;
  return <Confirm token={token} step={step} onStep={go} />;
}

type ConfirmProps = {
  token: string;
  step: Extract<Step, { name: 'ready' }>;
  onStep: (step: Step) => void;
};

function Confirm({ token, step: { canDecline, email }, onStep }: ConfirmProps): ReactElement {
  const [password, setPassword] = useState('');
  const [isOther, setOther] = useState(false);
  const [last, setLast] = useState<unknown>(null);
  const rules = usePasswordRules(isOther);
  /** A link that no longer works leads on; another failure is shown. */
  const orStep = async (run: () => Promise<Step>): Promise<void> => {
    setLast(null);
    try {
      onStep(await run());
    } catch (error) {
      const next = stepAfter(error);
      if (next) return onStep(next);
      setLast(error);
      throw error;
    }
  };
  const confirm = useWork(() =>
    orStep(async () => {
      await client.auth.verifyEmail({ token });
      return done(t.verify.done, t.verify.doneText);
    }),
  );
  const decline = useWork(() =>
    orStep(async () => {
      await client.request('POST /api/v1/auth/registration/decline', { body: { token } });
      return done(t.verify.declined, t.verify.declinedText, false);
    }),
  );
  const own = useWork(() =>
    orStep(async () => {
      await client.auth.verifyEmail({ token, new_password: password });
      return done(t.verify.done, t.verify.ownDone);
    }),
  );
  return (
    <Frame title={t.verify.title} notice={noticeOf(last, rules)}>
      <Form work={confirm} submit={t.verify.submit}>
        <p>{t.verify.text}</p>
      </Form>
      <details onToggle={(event) => setOther(event.currentTarget.open)}>
        <summary>{t.verify.other}</summary>
        {canDecline && (
          <Form work={decline} submit={t.verify.decline} isSecondary>
            <p>{t.verify.declineText}</p>
          </Form>
        )}
        <Form work={own} submit={t.verify.own} isSecondary>
          <p>{t.verify.ownText}</p>
          {email !== undefined && <AccountField email={email} />}
          <PasswordField
            label={t.newPassword}
            value={password}
            onChange={setPassword}
            autoComplete="new-password"
            rules={rules}
            error={own.error}
          />
        </Form>
      </details>
    </Frame>
  );
}

function NewLink({ step, onStep }: { step: Step; onStep: (step: Step) => void }): ReactElement {
  const [email, setEmail] = useState('');
  const work = useWork(async () => {
    await client.auth.resendVerificationEmail(email);
    onStep(done(t.checkEmail.title, t.verify.sent, false));
  });
  const first = step.name === 'new link' ? step.notice : null;
  return (
    <Frame title={t.broken} notice={noticeOf(work.error) ?? first}>
      <Form work={work} submit={t.verify.resend}>
        <EmailField value={email} onChange={setEmail} error={work.error} />
      </Form>
    </Frame>
  );
}
