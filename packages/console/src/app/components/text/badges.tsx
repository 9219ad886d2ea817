// Small marks: status, roles, initials. Plain elements, because lists show hundreds of them.
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { nameOf } from '../../data/me.tsx';
import { t } from '../../text.ts';

export type Status = 'active' | 'inactive' | 'locked' | 'unverified';

export const StatusBadge = ({ status }: { status: Status }): ReactElement => (
  <span className={`badge badge-${status}`}>{t.common.status[status]}</span>
);

export const Tag = ({ children, tone = 'gray' }: { children: string; tone?: string }): ReactElement => (
  <span className={`badge badge-${tone}`}>{children}</span>
);

/** Of so many roles the names show; the others are counted, with their names on hover and for screen readers. */
const SHOWN_ROLES = 2;

export function RoleChips({ roles }: { roles: readonly { id: string; name: string }[] }): ReactElement {
  const rest = roles.slice(SHOWN_ROLES);
  if (roles.length === 0) return <span className="muted">–</span>;
  return (
    <span className="chips">
      {roles.slice(0, SHOWN_ROLES).map(({ id, name }) => (
        <span key={id} className="chip" title={name}>
          {name}
        </span>
      ))}
      {rest.length > 0 && (
        <span className="chip chip-more" title={rest.map(({ name }) => name).join(', ')}>
          +{formatNumber(rest.length)}
          <span className="visually-hidden"> {rest.map(({ name }) => name).join(', ')}</span>
        </span>
      )}
    </span>
  );
}

type Person = { id: string; first_name: string; last_name: string; email: string };

const TONES = 8;

/** The same person always has the same color. */
const toneOf = (id: string): number => Number.parseInt(id.slice(-2), 16) % TONES;

const initialsOf = (person: Person): string => {
  const words = nameOf(person)
    .split(/[\s@.]+/)
    .filter(Boolean);
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined];
  return letters
    .map((word) => (word ? [...word][0] : ''))
    .join('')
    .toLocaleUpperCase();
};

/** Drawn by CSS: it is a picture, and no text of the button around it. */
export const Initials = ({ person }: { person: Person }): ReactElement => (
  <span className={`initials tone-${toneOf(person.id)}`} data-initials={initialsOf(person)} aria-hidden />
);
