// Accepts an invitation: the person enters the names that it lacks and chooses a password, and is signed in with it. Or they make a
// passkey, or come by a provider. A dead link is told before anything is typed.
import { type ReactElement, useEffect, useState } from 'react';
import { addressOf } from '../../common/page-settings.ts';
import { client, fieldMessage, isCode } from '../client.ts';
import { invitation, loadInvitationTexts } from '../invitation-text.ts';
import { Broken, Checking, Done, useLink } from '../links/link.tsx';
import {
  AccountField,
  Field,
  Form,
  Frame,
  type NoticeContent,
  noticeOf,
  PasswordField,
  usePasswordRules,
} from '../parts.tsx';
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';
import { useWork } from '../work.ts';
import type { Ways } from './invitation/Ways.tsx';

type Invited = { email?: string | undefined; first: string; last: string; passkey?: boolean | undefined };
/** An element: what accepting with a passkey shows next. */
type Step = 'accepted' | 'before' | 'expired' | 'missing' | Invited | ReactElement;

/** Of a link that could not be checked: sending the form shows the failure. */
const nobody: Invited = { first: '', last: '' };

/** Returns the page, when its texts are there. */
export async function invitationPage() {
  await loadInvitationTexts();
  return Invitation;
}

function Invitation({ token }: { token: string | null }): ReactElement {
  const [step, go] = useLink<Step>({
    token,
    purpose: 'invitation',
    missing: 'missing',
    stepOf: (found) => {
      if (!found) return nobody;
      const { valid, already_verified: isAccepted, email, first_name, last_name, passkey } = found;
      if (valid) return { email, first: first_name ?? '', last: last_name ?? '', passkey };
      return isAccepted ? 'before' : 'expired';
    },
    isOver: (next) => typeof next === 'string' || 'props' in next,
  });
  if (step === null) return <Checking title={invitation.title} />;
  if (step === 'accepted' || step === 'before')
    return (
      <Done title={invitation.done} text={step === 'before' ? invitation.before : invitation.accepted} />
    );
  if (typeof step === 'object' && 'props' in step) return step;
  if (typeof step === 'object' && token) return <Accept token={token} invited={step} onEnd={go} />;
  return <Broken text={step === 'expired' ? invitation.expired : invitation.missing} canAskAgain />;
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
