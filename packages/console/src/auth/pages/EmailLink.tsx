// Changes the email address of an account by a mailed link, or undoes that, on a click, never automatically: mail scanners open
// links too. A dead link is told before the click.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useEffect, useState } from 'react';
import { client, isCode } from '../client.ts';
import { emailLink, loadEmailLinkTexts } from '../email-link-text.ts';
import { Form, Frame, noticeOf, Onward } from '../parts.tsx';
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';
import { useWork } from '../work.ts';

type Purpose = 'change_email' | 'revert_email';
type Step = 'checking' | 'done' | 'before' | 'expired' | 'taken' | 'missing' | { email: string | undefined };

/** Returns the page of links for this purpose, when its texts are there. */
export async function emailLinkPage(purpose: Purpose) {
  await loadEmailLinkTexts();
  return ({ token }: { token: string | null }) => <EmailLink purpose={purpose} token={token} />;
}

const textsOf = (purpose: Purpose) => (purpose === 'change_email' ? emailLink.change : emailLink.undo);

function EmailLink({ purpose, token }: { purpose: Purpose; token: string | null }): ReactElement {
  const texts = textsOf(purpose);
  const [step, setStep] = useState<Step>(token ? 'checking' : 'missing');
  const go = (next: Step): void => {
    if (typeof next === 'string') forgetToken();
    setStep(next);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: `go` uses nothing that changes
  useEffect(() => {
    if (!token) return;
    const abort = new AbortController();
    checkLink(purpose, token, abort.signal).then(go, () => undefined);
    return () => abort.abort();
  }, [purpose, token]);
  if (step === 'checking')
    return (
      <Frame title={texts.title}>
        <p className="muted">{t.verify.checking}</p>
      </Frame>
    );
  if (typeof step === 'object' && token)
    return <Act purpose={purpose} token={token} email={step.email} onEnd={go} />;
  if (step === 'done' || step === 'before')
    return (
      <Frame
        title={texts.done}
        notice={{ kind: 'good', text: step === 'before' ? emailLink.change.before : texts.doneText }}
      >
        <Onward signIn={purpose === 'change_email'} />
      </Frame>
    );
  const reasons = { expired: texts.expired, taken: texts.taken, missing: emailLink.missing };
  return (
    <Frame
      title={t.broken}
      notice={{ kind: 'error', text: typeof step === 'string' ? reasons[step] : emailLink.missing }}
    >
      <Onward />
    </Frame>
  );
}

/** Without a response, the button is offered: the click shows the failure. Rejects only when it is aborted. */
async function checkLink(purpose: Purpose, token: string, signal: AbortSignal): Promise<Step> {
  try {
    const { result } = await client.request('POST /api/v1/auth/links/check', {
      body: { purpose, token },
      signal,
    });
    const { valid, already_verified: isDone, email } = result.data;
    if (valid) return { email };
    return isDone ? 'before' : 'expired';
  } catch (error) {
    if (error instanceof CastellanError) return { email: undefined };
    throw error;
  }
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
