// Keeps an account that its owner deleted. On a click, never automatically, because mail scanners open links too.
// It must not sign in: the link proves the mailbox, not the person.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useEffect, useState } from 'react';
import { client, isCode } from '../client.ts';
import { leaving, loadLeavingTexts } from '../leaving-text.ts';
import { AccountField, Form, Frame, noticeOf, Onward } from '../parts.tsx';
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';
import { useWork } from '../work.ts';

type Step = 'checking' | 'kept' | 'over' | 'missing' | { email?: string | undefined };

/** Returns the page, when its texts are there. */
export async function undoDeletionPage() {
  await loadLeavingTexts();
  return UndoDeletion;
}

function UndoDeletion({ token }: { token: string | null }): ReactElement {
  const [step, setStep] = useState<Step>(token ? 'checking' : 'missing');
  const go = (next: Step): void => {
    if (typeof next === 'string') forgetToken();
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
      <Frame title={leaving.title}>
        <p className="muted">{t.verify.checking}</p>
      </Frame>
    );
  if (step === 'kept')
    return (
      <Frame title={leaving.done} notice={{ kind: 'good', text: leaving.doneText }}>
        <Onward />
      </Frame>
    );
  if (typeof step === 'object' && token) return <Keep token={token} email={step.email} onEnd={go} />;
  return (
    <Frame
      title={t.broken}
      notice={{ kind: 'error', text: step === 'over' ? leaving.over : leaving.missing }}
    >
      <Onward />
    </Frame>
  );
}

/** Without a response, the button is offered: the click shows the failure. Rejects only when it is aborted. */
async function checkLink(token: string, signal: AbortSignal): Promise<Step> {
  try {
    const { result } = await client.request('POST /api/v1/auth/links/check', {
      body: { purpose: 'undo_deletion', token },
      signal,
    });
    const { valid, email } = result.data;
    return valid ? { email } : 'over';
  } catch (error) {
    if (error instanceof CastellanError) return {};
    throw error;
  }
}

type KeepProps = { token: string; email: string | undefined; onEnd: (step: 'kept' | 'over') => void };

function Keep({ token, email, onEnd }: KeepProps): ReactElement {
  const work = useWork(async () => {
    try {
      await client.request('POST /api/v1/auth/undo-deletion', { body: { token } });
    } catch (error) {
      if (!isCode(error, 'undo_token_invalid')) throw error;
      return onEnd('over');
    }
    onEnd('kept');
  });
  return (
    <Frame title={leaving.title} notice={noticeOf(work.error)}>
      <p>{leaving.text}</p>
      <Form work={work} submit={leaving.submit}>
        {email !== undefined && <AccountField email={email} />}
      </Form>
    </Frame>
  );
}
