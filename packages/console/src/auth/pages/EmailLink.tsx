// Changes the email address of an account by a mailed link, or undoes that, on a click, never automatically: mail scanners open
// links too. A dead link is told before the click.
import type { ReactElement } from 'react';
import { client, isCode } from '../client.ts';
import { emailLink, loadEmailLinkTexts } from '../email-link-text.ts';
import { Broken, Checking, Done, useLink } from '../links/link.tsx';
import { Form, Frame, noticeOf } from '../parts.tsx';
import { useWork } from '../work.ts';

type Purpose = 'change_email' | 'revert_email';
type Step = 'done' | 'before' | 'expired' | 'taken' | 'missing' | { email: string | undefined };

/** Returns the page of links for this purpose, when its texts are there. */
export async function emailLinkPage(purpose: Purpose) {
  await loadEmailLinkTexts();
  return ({ token }: { token: string | null }) => <EmailLink purpose={purpose} token={token} />;
}

const textsOf = (purpose: Purpose) => (purpose === 'change_email' ? emailLink.change : emailLink.undo);

function EmailLink({ purpose, token }: { purpose: Purpose; token: string | null }): ReactElement {
  const texts = textsOf(purpose);
  const [step, go] = useLink<Step>({
    token,
    purpose,
    missing: 'missing',
    stepOf: (found) => {
      if (!found || found.valid) return { email: found?.email };
      return found.already_verified ? 'before' : 'expired';
    },
    isOver: (next) => typeof next === 'string',
  });
  if (step === null) return <Checking title={texts.title} />;
  if (typeof step === 'object' && token)
    return <Act purpose={purpose} token={token} email={step.email} onEnd={go} />;
  if (step === 'done' || step === 'before')
    return (
      <Done
        title={texts.done}
        text={step === 'before' ? emailLink.change.before : texts.doneText}
        signIn={purpose === 'change_email'}
      />
    );
  const reasons = { expired: texts.expired, taken: texts.taken, missing: emailLink.missing };
  return <Broken text={typeof step === 'string' ? reasons[step] : emailLink.missing} />;
}

type ActProps = {
  purpose: Purpose;
  token: string;
  email: string | undefined;
  onEnd: (step: 'done' | 'expired' | 'taken') => void;
};

const operations = {
  change_email: 'POST /api/v1/auth/confirm-email-change',
  revert_email: 'POST /api/v1/auth/revert-email-change',
} as const;

function Act({ purpose, token, email, onEnd }: ActProps): ReactElement {
  const texts = textsOf(purpose);
  const work = useWork(async () => {
    try {
      await client.request(operations[purpose], { body: { token } });
    } catch (error) {
      if (isCode(error, 'email_taken')) return onEnd('taken');
      if (isCode(error, 'email_change_token_invalid') || isCode(error, 'email_undo_token_invalid'))
        return onEnd('expired');
      throw error;
    }
    onEnd('done');
  });
  return (
    <Frame title={texts.title} notice={noticeOf(work.error)}>
      <Form work={work} submit={texts.submit}>
        {email !== undefined && <p data-raw>{texts.text(email)}</p>}
        <p>{texts.ends}</p>
      </Form>
    </Frame>
  );
}
