// The buttons of providers, once they are known: those of the sign-in page, or the one that an email address requires.
// It must stay small: every visitor of the sign-in page loads it.
import { type ReactElement, useEffect, useState } from 'react';
import { isCode } from '../client.ts';
import type { NoticeContent } from '../parts.tsx';
import type { Provider } from '../provider/calls.ts';
import type { LoadedButtons } from './provider/buttons.ts';

type Props = {
  /** The refusal of an email address whose people must use a provider: only that one is shown. */
  refusal?: unknown;
  /** All, where the page knows them already. */
  known?: readonly Provider[] | undefined;
  onSay: (notice: NoticeContent | null) => void;
  /** Called when nothing else will appear. */
  onSettled?: () => void;
};

export function ProviderWays({ refusal, known, onSay, onSettled }: Props): ReactElement | null {
  const [loaded, setLoaded] = useState<LoadedButtons | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the page opens, and after another refusal
  useEffect(() => {
    import('./provider/buttons.ts')
      .then(({ providerButtons }) => providerButtons(refusal, known))
      // Without them, the password still works.
      .then(setLoaded, () => {})
      .then(onSettled);
  }, [refusal]);
  return loaded && <loaded.Buttons {...loaded.props} onSay={onSay} />;
}

/** The button of the provider that an email address requires; nothing after other answers. A failure shows in its place. */
export function RequiredProvider({ error }: { error: unknown }): ReactElement | null {
  const [said, setSaid] = useState<NoticeContent | null>(null);
  if (!isCode(error, 'provider_required')) return null;
  return (
    <>
      {said && <p className="field-error">{said.text}</p>}
      <ProviderWays refusal={error} onSay={setSaid} />
    </>
  );
}
