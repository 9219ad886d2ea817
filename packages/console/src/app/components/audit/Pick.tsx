// A value of an audit entry: on the page Audit log a click filters by it, elsewhere it links to that page.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

/** The filters of the page Audit log that a value of an entry can set. */
type PickName = 'actor' | 'acted_by' | 'target' | 'action' | 'address' | 'type';
export type OnPick = (name: PickName, value: string) => void;

type Props = {
  name: PickName;
  /** What to filter by; null shows the text alone. */
  value: string | null;
  text: string;
  onPick: OnPick | undefined;
  className?: string;
};

export function Pick({ name, value, text, onPick, className = '' }: Props): ReactElement {
  if (value === null || value === '') return <span className={className}>{text}</span>;
  const title = t.audit.only(text);
  if (!onPick) {
    return (
      <Link to="/audit" search={{ [name]: value }} className={`pick ${className}`} title={title}>
        {text}
      </Link>
    );
  }
  return (
    <button type="button" className={`pick ${className}`} title={title} onClick={() => onPick(name, value)}>
      {text}
    </button>
  );
}
