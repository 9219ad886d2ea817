// What a role gives beside the permission in question.
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

const SHOWN = 4;

export function Adds({ adds }: { adds: readonly string[] }): ReactElement {
  if (adds.length === 0) return <p className="muted">{t.access.addsNothing}</p>;
  const rest = adds.length - SHOWN;
  return (
    <p className="adds" title={adds.join(', ')}>
      <span className="muted">{t.access.adds(adds.length)}</span>{' '}
      <span className="mono">{adds.slice(0, SHOWN).join(', ')}</span>
      {rest > 0 && <span className="muted"> + {t.common.list.more(rest)}</span>}
    </p>
  );
}
