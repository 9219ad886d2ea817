// Live sessions by network, as bars that are also a list.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import './charts.css';
import type { NetworkCount } from './networks.ts';

const FULL = 100;

/** Each bar links to the sessions of its network. */
export function NetworkBars({ counts }: { counts: readonly NetworkCount[] }): ReactElement {
  const most = Math.max(1, ...counts.map(({ sessions }) => sessions));
  return (
    <ul className="bars">
      {counts.map(({ network, sessions }) => (
        <li key={network}>
          <Link to="/sessions" search={{ address: network }} className="bar-link">
            <span className="mono">{network}</span>
            <span>{t.overview.networks.sessions(sessions)}</span>
            <span className="bar" aria-hidden style={{ inlineSize: `${(sessions / most) * FULL}%` }} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
