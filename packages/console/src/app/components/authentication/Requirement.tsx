// What a role or a permission requires of sign-ins, with the dialog that changes it.
// It must not know which of the two it shows.
import { type ReactElement, type ReactNode, Suspense, useState } from 'react';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { ReasonButton } from '../forms/ReasonButton.tsx';
import { usePageActions } from '../page/page-actions.ts';
import './requirement.css';

type Props = {
  title: string;
  /** Of the role or the permission. */
  name: string;
  change: string;
  className?: string;
  facts: readonly { term: string; fact: ReactNode }[];
  dialog: (onClose: () => void) => ReactElement;
  children?: ReactNode;
};

export function Requirement({ title, name, change, facts, dialog, children, ...rest }: Props): ReactElement {
  const { can } = useMe();
  const [isOpen, setOpen] = useState(false);
  const mayChange = can('authentication.update');
  usePageActions(mayChange ? [{ label: `${change} · ${name}`, run: () => setOpen(true) }] : []);
  return (
    <section className={`requirement ${rest.className ?? ''}`} aria-label={title}>
      <dl>
        {facts.map(({ term, fact }) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{fact}</dd>
          </div>
        ))}
      </dl>
      <ReasonButton
        variant="default"
        reason={mayChange ? null : t.common.forbidden.reason('authentication.update')}
        onClick={() => setOpen(true)}
      >
        {change}
      </ReasonButton>
      {children}
      <Suspense>{isOpen && dialog(() => setOpen(false))}</Suspense>
    </section>
  );
}
