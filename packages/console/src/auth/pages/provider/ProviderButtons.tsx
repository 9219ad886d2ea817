// One button for each provider, in words.
import type { ReactElement } from 'react';
import { isCode } from '../../client.ts';
import type { NoticeContent } from '../../parts.tsx';
import { noticeOf } from '../../parts.tsx';
import { type Provider, type Purpose, startProvider } from '../../provider/calls.ts';
import { via } from '../../provider/text.ts';
import { t } from '../../text.ts';
import { useWork } from '../../work.ts';

export type ProviderButtonsProps = {
  providers: readonly Provider[];
  purpose: Purpose;
  /** Whether it is the only way that is open to the person. */
  isOnly?: boolean;
  /** Says what happened; null when something new begins. */
  onSay: (notice: NoticeContent | null) => void;
};

/** Leads to the provider. "Back" shows this page again as it was left, so that the work must end then. */
async function leaveFor(address: string): Promise<void> {
  location.assign(address);
  await new Promise((resolve) => addEventListener('pageshow', resolve, { once: true }));
}

export function ProviderButtons({ providers, isOnly = false, ...props }: ProviderButtonsProps): ReactElement {
  const buttons = providers.map((provider) => (
    <li key={provider.slug}>
      <ProviderButton provider={provider} isOnly={isOnly} {...props} />
    </li>
  ));
  if (isOnly) return <ul className="ways">{buttons}</ul>;
  return (
    <section className="apart" aria-labelledby="providers">
      <h2 id="providers">{via.or}</h2>
      <ul className="ways">{buttons}</ul>
    </section>
  );
}

type ButtonProps = Omit<ProviderButtonsProps, 'providers' | 'isOnly'> & {
  provider: Provider;
  isOnly: boolean;
};

function ProviderButton({ provider: { slug, name }, purpose, isOnly, onSay }: ButtonProps): ReactElement {
  const work = useWork(async () => {
    onSay(null);
    try {
      await leaveFor(await startProvider(slug, purpose));
    } catch (error) {
      const isAway = !isOnly && isCode(error, 'provider_unavailable');
      onSay(isAway ? { kind: 'error', text: via.away(name) } : noticeOf(error));
    }
  });
  return (
    <button
      type="button"
      className={isOnly ? 'button' : 'button secondary'}
      aria-disabled={work.isPending ? true : undefined}
      onClick={() => work.start()}
    >
      {work.isPending ? t.working : <span data-raw>{via.signIn(name)}</span>}
    </button>
  );
}
