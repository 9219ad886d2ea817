// Accepts an invitation: the person enters the names that it lacks and chooses a password, and is signed in with it. Or they make a
// passkey, or come by a provider. A dead link is told before anything is typed.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { addressOf, pageSettings } from '../../common/page-settings.ts';
import { client, fieldMessage, isCode } from '../client.ts';
import { invitation, loadInvitationTexts } from '../invitation-text.ts';
import {
  AccountField,
  Field,
  Form,
  Frame,
  type NoticeContent,
  noticeOf,
  Onward,
  PasswordField,
  usePasswordRules,
} from '../parts.tsx';
import { canUsePasskeys } from '../sign-in/waiting.ts';
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';
import { useWork } from '../work.ts';
import { ProviderWays, RequiredProvider } from './ProviderWays.tsx';
import type { Acceptance } from './passkey/acceptance.ts';

type Invited = { email?: string | undefined; first: string; last: string; mayUsePasskey: boolean };
/** `Shown`: the component for the codes. */
type Kept = { email: string; codes: readonly string[]; Shown: Acceptance['KeepCodes'] };
type Step = 'checking' | 'accepted' | 'before' | 'expired' | 'missing' | Invited | Kept;

/** Of a link that could not be checked: sending the form shows the failure. */
const nobody: Invited = { first: '', last: '', mayUsePasskey: false };

/** Returns the page, when its texts are there. */
export async function invitationPage() {
  await loadInvitationTexts();
  return Invitation;
}

function Invitation({ token }: { token: string | null }): ReactElement {
  const [step, setStep] = useState<Step>(token ? 'checking' : 'missing');
  const go = (next: Step): void => {
    if (typeof next === 'string' || 'codes' in next) forgetToken();
    setStep(next);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: `go` uses nothing that changes
  useEffect(() => {
    if (!token) return;
    const abort = new AbortController();
    checkLink(token, abort.signal).then(go, () => undefined);
    return () => abort.abort();
  }, [token]);
  if (step === 'checking')
    return (
      <Frame title={invitation.title}>
        <p className="muted">{t.verify.checking}</p>
      </Frame>
    );
  if (step === 'accepted' || step === 'before')
    return (
      <Frame
        title={invitation.done}
        notice={{ kind: 'good', text: step === 'before' ? invitation.before : invitation.accepted }}
      >
        <Onward />
      </Frame>
    );
  if (typeof step === 'object' && 'codes' in step)
    return <step.Shown texts={invitation.codes} email={step.email} codes={step.codes} />;
  if (typeof step === 'object' && token) return <Accept token={token} invited={step} onEnd={go} />;
  return (
    <Frame
      title={t.broken}
      notice={{ kind: 'error', text: step === 'expired' ? invitation.expired : invitation.missing }}
    >
      <p className="onward">
        <a className="button" href={pageSettings.forgotUrl ?? addressOf('/forgot')}>
          {t.reset.again}
        </a>
      </p>
    </Frame>
  );
}

/** Without a response, the form is offered. Rejects only when it is aborted. */
async function checkLink(token: string, signal: AbortSignal): Promise<Step> {
  try {
    const { result } = await client.request('POST /api/v1/auth/links/check', {
      body: { purpose: 'invitation', token },
      signal,
    });
    const { valid, already_verified: isAccepted, email, first_name, last_name, passkey } = result.data;
    if (valid)
      return { email, first: first_name ?? '', last: last_name ?? '', mayUsePasskey: passkey === true };
    return isAccepted ? 'before' : 'expired';
  } catch (error) {
    if (error instanceof CastellanError) return nobody;
    throw error;
  }
}

type AcceptProps = {
  token: string;
  invited: Invited;
  onEnd: (step: 'accepted' | 'expired' | Kept) => void;
};

function Accept({ token, invited, onEnd }: AcceptProps): ReactElement {
  const [first, setFirst] = useState(invited.first);
  const [last, setLast] = useState(invited.last);
  const [password, setPassword] = useState('');
  const rules = usePasswordRules();
  const firstField = useRef<HTMLInputElement>(null);
  const passkey = useAcceptance(invited.mayUsePasskey);
  // What another way than the password says: it follows the last attempt.
  const [said, setSaid] = useState<{ error: unknown; notice: NoticeContent | null } | null>(null);
  const work = useWork(async () => {
    setSaid(null);
    let email: string;
    try {
      const { result } = await client.request('POST /api/v1/auth/accept-invitation', {
        body: { token, password, first_name: first, last_name: last },
      });
      email = result.data.email;
    } catch (error) {
      if (!isCode(error, 'invitation_token_invalid')) throw error;
      return onEnd('expired');
    }
    forgetToken();
    try {
      await client.auth.signIn({ email, password });
    } catch {
      // The invitation is accepted: whatever is in the way, the page for sign-ins says it.
      return onEnd('accepted');
    }
    location.replace(addressOf('/overview'));
    await new Promise(() => {});
  });
  const error = said ? said.error : work.error;
  const say = (refused: unknown, notice: NoticeContent | null): void => {
    work.clear();
    if (isCode(refused, 'invitation_token_invalid')) onEnd('expired');
    setSaid({ error: refused, notice });
  };
  return (
    <Frame title={invitation.title} notice={said ? said.notice : noticeOf(work.error, rules)}>
      <p>{invitation.text}</p>
      <RequiredProvider error={error} />
      <Form work={work} submit={invitation.submit}>
        {invited.email !== undefined && <AccountField email={invited.email} />}
        <div className="pair">
          <Field
            label={t.firstName}
            name="first_name"
            autoComplete="given-name"
            required
            input={firstField}
            value={first}
            error={fieldMessage(error, 'first_name')}
            onChange={(event) => setFirst(event.currentTarget.value)}
          />
          <Field
            label={t.lastName}
            name="last_name"
            autoComplete="family-name"
            value={last}
            error={fieldMessage(error, 'last_name')}
            onChange={(event) => setLast(event.currentTarget.value)}
          />
        </div>
        <PasswordField
          label={t.password}
          value={password}
          onChange={setPassword}
          autoComplete="new-password"
          rules={rules}
          error={work.error}
        />
      </Form>
      {passkey && (
        <passkey.AcceptByPasskey
          texts={invitation.passkey}
          body={{ token, first_name: first, last_name: last }}
          mayBegin={() => firstField.current?.reportValidity() ?? true}
          onAccepted={(codes) => onEnd({ email: invited.email ?? '', codes, Shown: passkey.KeepCodes })}
          onRefused={say}
        />
      )}
      {!isCode(error, 'provider_required') && <ProviderWays onSay={(notice) => say(null, notice)} />}
    </Frame>
  );
}

/** Returns what accepts with a passkey, where the service and the browser can. Without it, there is the password. */
function useAcceptance(isOffered: boolean): Acceptance | null {
  const [loaded, setLoaded] = useState<Acceptance | null>(null);
  useEffect(() => {
    if (!isOffered || !canUsePasskeys()) return;
    import('./passkey/acceptance.ts')
      .then(({ loadAcceptance }) => loadAcceptance())
      .then(setLoaded, () => {});
  }, [isOffered]);
  return loaded;
}
