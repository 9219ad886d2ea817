// The form of the sign-in page: password, provider, or passkey.
import { type ReactElement, useEffect, useState } from 'react';
import { pageSettings } from '../../common/page-settings.ts';
import { client, isCode } from '../client.ts';
import { onwardAddress } from '../interaction/address.ts';
import { EmailField, Form, Frame, type NoticeContent, noticeOf, PasswordField } from '../parts.tsx';
import type { Provider } from '../provider/calls.ts';
import { canUsePasskeys } from '../sign-in/waiting.ts';
import { t } from '../text.ts';
import { useWork } from '../work.ts';
import { ProviderWays, RequiredProvider } from './ProviderWays.tsx';
import type { PasskeyButton, PasskeyProps } from './passkey/PasskeyButton.tsx';

type Props = {
  email: string;
  /** What the sign-in is for. */
  lead: string | undefined;
  notice: NoticeContent | null;
  /** The providers, where the page knows them already. */
  providers: readonly Provider[] | undefined;
  /** Whether people come back from the second step. */
  isReturn: boolean;
  /** Whether they have opened the link of a recovery. */
  hasLink: boolean;
  /** `refusal`: the answer of the service to the right password. */
  onSecondStep: (refusal: unknown, email: string) => Promise<void>;
  onDone: () => Promise<void>;
};

export function PasswordStep({ onSecondStep, onDone, ...given }: Props): ReactElement {
  const [email, setEmail] = useState(given.email);
  const [password, setPassword] = useState('');
  const [said, setSaid] = useState(given.notice ?? (given.hasLink ? linkNotice() : null));
  const signIn = useWork(async () => {
    setSaid(null);
    try {
      await client.auth.signIn({ email, password });
    } catch (error) {
      if (!isCode(error, 'second_factor_required')) throw error;
      return onSecondStep(error, email);
    }
    await onDone();
  });
  const resend = useWork(async () => {
    await client.auth.resendVerificationEmail(email);
    setSaid({ kind: 'good', text: t.verify.sent });
  });
  const say = (notice: NoticeContent | null): void => {
    signIn.clear();
    resend.clear();
    setSaid(notice);
  };
  const [isSettled, setSettled] = useState(false);
  const isRequired = isCode(signIn.error, 'provider_required');
  const isUnverified = isCode(signIn.error, 'email_not_verified');
  const refusal: NoticeContent | null = isUnverified
    ? { kind: 'error', text: t.login.unverified }
    : noticeOf(signIn.error);
  return (
    <Frame
      title={t.login.title}
      notice={noticeOf(resend.error) ?? said ?? refusal}
      step={given.isReturn ? 'password' : undefined}
    >
      {given.lead !== undefined && <p className="muted">{given.lead}</p>}
      {isUnverified && !said && <Form work={resend} submit={t.login.resend} isSecondary />}
      <RequiredProvider error={signIn.error} />
      <Form work={signIn} submit={t.login.submit} isSecondary={isRequired}>
        <EmailField
          value={email}
          onChange={setEmail}
          error={signIn.error}
          hasFocus={!given.isReturn}
          hasPasskeys={canUsePasskeys()}
        />
        <PasswordField
          label={t.password}
          value={password}
          onChange={setPassword}
          autoComplete="current-password"
        />
      </Form>
      <p className="links">
        <a href={pageSettings.forgotUrl ?? onwardAddress('/forgot')}>{t.login.forgot}</a>
        <span>
          {t.login.noAccount} <a href={onwardAddress('/register')}>{t.login.register}</a>
        </span>
      </p>
      {!isRequired && <ProviderWays known={given.providers} onSay={say} onSettled={() => setSettled(true)} />}
      {isSettled && <Passkeys onSay={say} onDone={onDone} />}
    </Frame>
  );
}

const linkNotice = (): NoticeContent => ({ kind: 'good', text: t.login.recovery });

/**
 * Nothing until the service has told that a passkey signs in, and nothing in a browser without passkeys. It is at the end of the
 * page, so that nothing moves when it appears.
 */
function Passkeys(props: PasskeyProps): ReactElement | null {
  const [Button, setButton] = useState<typeof PasskeyButton | null>(null);
  useEffect(() => {
    if (!canUsePasskeys()) return;
    import('./passkey/load.ts')
      .then(({ passkeyButton }) => passkeyButton())
      .then(
        (button) => setButton(() => button),
        // The password still works.
        () => undefined,
      );
  }, []);
  return Button && <Button {...props} />;
}
