// One kind of factor: its name, what is set up, and what can be done.
import type { ReactElement, ReactNode } from 'react';
import { useId } from 'react';
import { PlainAgo } from '../../../components/text/time.tsx';
import { later } from '../../../text.ts';

type Props = {
  title: string;
  /** Beside the title. */
  actions?: ReactNode;
  children: ReactNode;
};

export function Factor({ title, actions, children }: Props): ReactElement {
  const id = useId();
  return (
    <section className="factor" aria-labelledby={id}>
      <div className="account-heading">
        <h3 id={id}>{title}</h3>
        {actions && <div className="factor-actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** When a factor was added and last used. */
export function Uses({ added, used }: { added: string; used: string | null }): ReactElement {
  const texts = later.secondFactors;
  return (
    <span className="factor-facts">
      <Fact text={texts.added} at={added} />
      {used === null ? <span>{texts.neverUsed}</span> : <Fact text={texts.lastUsed} at={used} />}
    </span>
  );
}

const MOMENT = '\0';

/** The moment where the sentence has it. */
function Fact({ text, at }: { text: (moment: string) => string; at: string }): ReactElement {
  const [before, after] = text(MOMENT).split(MOMENT);
  return (
    <span>
      {before}
      <PlainAgo at={at} />
      {after}
    </span>
  );
}
