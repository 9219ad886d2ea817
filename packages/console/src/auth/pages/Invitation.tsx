// Accepts an invitation: the person enters the names that it lacks and chooses a password, and is signed in with it. Or they make a
// passkey, or come by a provider. A dead link is told before anything is typed.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useEffect, useState } from 'react';
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
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';
import { useWork } from '../work.ts';
import type { Ways } from './invitation/Ways.tsx';

type Invited = { email?: string | undefined; first: string; last: string; passkey?: boolean | undefined };
/** An element: what accepting with a passkey shows next. */
type Step = 'checking' | 'accepted' | 'before' | 'expired' | 'missing' | Invited | ReactElement;

/** Of a link that could not be checked: sending the form shows the failure. */
const nobody: Invited = { first: '', last: '' };

/** Returns the page, when its texts are there. */
export async function invitationPage() {
  await loadInvitationTexts();
  return Invitation;
}

function Invitation({ token }: { token: string | null }): ReactElement {
  const [step, setStep] = useState<Step>(token ? 'checking' : 'missing');
  const go = (next: Step): void => {
    if (typeof next === 'string' || 'props' in next) forgetToken();
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
  if (typeof step === 'object' && 'props' in step) return step;
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
    if (valid) return { email, first: first_name ?? '', last: last_name ?? '', passkey };
    return isAccepted ? 'before' : 'expired';
  } catch (error) {
    if (error instanceof CastellanError) return nobody;
    throw error;
  }
}

type AcceptProps = {
  token: string;
  invited: Invited;
  onEnd: (step: 'accepted' | 'expired' | ReactElement) => void;
};

function Accept({ token, invited, onEnd }: AcceptProps): ReactElement {
  const [first, setFirst] = useState(invited.first);
  const [last, setLast] = useState(invited.last);
  const [password, setPassword] = useState('');
  const rules = usePasswordRules();
  const OtherWays = useWays();
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
      {!isCode(error, 'provider_required') && (
        <Form work={work} submit={invitation.submit}>
          {invited.email !== undefined && <AccountField email={invited.email} />}
          <div className="pair">
            <Field
              label={t.firstName}
              name="first_name"
              autoComplete="given-name"
              required
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
      )}
      {OtherWays && (
        <OtherWays
          texts={invitation.passkey}
          codeTexts={invitation.codes}
          email={invited.email ?? ''}
          body={{ token, first_name: first, last_name: last }}
          isPasskeyOffered={invited.passkey === true}
          error={error}
          onAccepted={onEnd}
          onRefused={say}
        />
      )}
    </Frame>
  );
}

/** Returns the ways without a password, once they are loaded. */
function useWays(): typeof Ways | null {
  const [loaded, setLoaded] = useState<typeof Ways | null>(null);
  useEffect(() => {
    import('./invitation/Ways.tsx').then(
      (found) => setLoaded(() => found.Ways),
      () => {},
    );
  }, []);
  return loaded;
}
