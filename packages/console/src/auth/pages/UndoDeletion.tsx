// Keeps an account that its owner deleted. On a click, never automatically, because mail scanners open links too.
// It must not sign in: the link proves the mailbox, not the person.
import type { ReactElement } from 'react';
import { client, isCode } from '../client.ts';
import { leaving, loadLeavingTexts } from '../leaving-text.ts';
import { Broken, Checking, Done, useLink } from '../links/link.tsx';
import { AccountField, Form, Frame, noticeOf } from '../parts.tsx';
import { useWork } from '../work.ts';

type Step = 'kept' | 'over' | 'missing' | { email?: string | undefined };

/** Returns the page, when its texts are there. */
export async function undoDeletionPage() {
  await loadLeavingTexts();
  return UndoDeletion;
}

function UndoDeletion({ token }: { token: string | null }): ReactElement {
  const [step, go] = useLink<Step>({
    token,
    purpose: 'undo_deletion',
    missing: 'missing',
    stepOf: (found) => (found && !found.valid ? 'over' : { email: found?.email }),
    isOver: (next) => typeof next === 'string',
  });
  if (step === null) return <Checking title={leaving.title} />;
  if (step === 'kept') return <Done title={leaving.done} text={leaving.doneText} />;
  if (typeof step === 'object' && token) return <Keep token={token} email={step.email} onEnd={go} />;
  return <Broken text={step === 'over' ? leaving.over : leaving.missing} />;
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
