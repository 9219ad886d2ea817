// What the pages of mailed links have in common: the link is checked before anything is typed, and each way that it can end.
// It must not use the link: that takes a click, because mail scanners open links, too.
import { CastellanError, type LinkState } from '@castellan/sdk';
import { type ReactElement, useEffect, useState } from 'react';
import { addressOf, pageSettings } from '../../common/page-settings.ts';
import { client } from '../client.ts';
import { Frame, Onward } from '../parts.tsx';
import { t } from '../text.ts';
import { forgetToken } from '../token.ts';

type LinkPage<S> = {
  token: string | null;
  purpose:
    | 'change_email'
    | 'invitation'
    | 'reset_password'
    | 'revert_email'
    | 'undo_deletion'
    | 'verify_email';
  /** What the page shows without a token. */
  missing: S;
  /** What it shows then. Without a response, which is null, it offers what the link is for: the click shows the failure. */
  stepOf: (found: LinkState | null) => S;
  /** Whether the link is used or dead in this step, so that its token is forgotten. */
  isOver: (step: S) => boolean;
};

/** Returns what the page of a link shows, null while the link is being checked, and the function that goes on to another step. */
export function useLink<S>(page: LinkPage<S>): [step: S | null, go: (next: S) => void] {
  const { token, purpose, missing, stepOf, isOver } = page;
  const [step, setStep] = useState<{ is: S } | null>(token ? null : { is: missing });
  const go = (next: S): void => {
    if (isOver(next)) forgetToken();
    setStep({ is: next });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the functions use nothing that changes
  useEffect(() => {
    if (!token) return;
    const abort = new AbortController();
    check({ purpose, token }, abort.signal).then(
      (found) => go(stepOf(found)),
      () => undefined,
    );
    return () => abort.abort();
  }, [purpose, token]);
  return [step?.is ?? null, go];
}

/** Returns null without a response. Rejects only when it is aborted. */
async function check(
  body: { purpose: LinkPage<unknown>['purpose']; token: string },
  signal: AbortSignal,
): Promise<LinkState | null> {
  try {
    return (await client.request('POST /api/v1/auth/links/check', { body, signal })).result.data;
  } catch (error) {
    if (error instanceof CastellanError) return null;
    throw error;
  }
}

export const Checking = ({ title }: { title: string }): ReactElement => (
  <Frame title={title}>
    <p className="muted">{t.verify.checking}</p>
  </Frame>
);

type DoneProps = { title: string; text: string; signIn?: boolean };

export const Done = ({ title, text, signIn = true }: DoneProps): ReactElement => (
  <Frame title={title} notice={{ kind: 'good', text }}>
    <Onward signIn={signIn} />
  </Frame>
);

/** `canAskAgain`: whether the page for forgotten passwords sends another link. */
export const Broken = ({ text, canAskAgain }: { text: string; canAskAgain?: boolean }): ReactElement => (
  <Frame title={t.broken} notice={{ kind: 'error', text }}>
    {canAskAgain ? (
      <p className="onward">
        <a className="button" href={pageSettings.forgotUrl ?? addressOf('/forgot')}>
          {t.reset.again}
        </a>
      </p>
    ) : (
      <Onward />
    )}
  </Frame>
);
