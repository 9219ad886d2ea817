// The latest sign-ins.
import type { RecentLogin } from '@castellan/sdk';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { PlainAgo } from '../../components/text/time.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const SHOWN = 7;

/** The dashboard writes times as `2026-11-03 14:05:09`, in UTC, or `N/A`. */
const isoOf = (text: string): string | null => (text === 'N/A' ? null : `${text.replace(' ', 'T')}Z`);

export function RecentSignIns({ people }: { people: readonly RecentLogin[] }): ReactElement {
  const { can } = useMe();
  const mayOpen = can('user.read') || can('users.read');
  return (
    <section className="panel">
      <h2 className="section-title">{t.overview.recent.title}</h2>
      {people.length === 0 && <p className="muted">{t.overview.recent.none}</p>}
      <ul className="recent">
        {people.slice(0, SHOWN).map(({ id, name, email, last_active }) => (
          <li key={id}>
            <span className="recent-who" data-raw>
              {mayOpen ? (
                <Link to="/users" search={{ user: id }} className="row-name">
                  {name || email}
                </Link>
              ) : (
                <span className="row-name">{name || email}</span>
              )}
              <span className="row-note">{email}</span>
            </span>
            <span className="muted">
              <PlainAgo at={isoOf(last_active)} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
