// From which networks the sessions on screen come, as a small list of bars. Each network filters the list.
import type { UserSession } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { t } from '../../text.ts';
import { countNetworks } from './count-networks.ts';

/** The networks with the most sessions. */
const SHOWN = 8;

type Props = { sessions: readonly UserSession[]; onChoose: (network: string) => void };

export function Networks({ sessions, onChoose }: Props): ReactElement | null {
  const all = countNetworks(sessions);
  const most = all[0]?.[1] ?? 1;
  if (all.length === 0) return null;
  return (
    <aside className="panel" aria-labelledby="networks">
      <h2 id="networks" className="section-title">
        {t.sessions.networks}
      </h2>
      <p className="row-note">{t.sessions.networksOf(sessions.length)}</p>
      <ul className="network-list">
        {all.slice(0, SHOWN).map(([network, count]) => (
          <li key={network}>
            <button type="button" onClick={() => onChoose(network)}>
              <span className="mono">{network}</span>
              <span>
                {formatNumber(count)}
                <span className="visually-hidden"> {t.sessions.networkCount(count)}</span>
              </span>
              <span className="network-bar" style={{ inlineSize: `${(100 * count) / most}%` }} />
            </button>
          </li>
        ))}
      </ul>
      {all.length > SHOWN && <p className="row-note">{t.common.list.more(all.length - SHOWN)}</p>}
    </aside>
  );
}
