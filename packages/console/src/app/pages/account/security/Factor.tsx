// One kind of factor: its name, what is set up, and what can be done.
import type { ReactElement, ReactNode } from 'react';
import { useId } from 'react';

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
