// Everybody whom a change of access affects, with what each gains and loses, found by a part of a name or permission.

import type { AccessImpact } from '@castellan/sdk';
import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { t } from '../../text.ts';
import { searchFor } from '../../text-search.ts';

/** So many rows are on the page at once. */
const MOST_ROWS = 200;

export function AffectedList({ impact }: { impact: AccessImpact }): ReactElement {
  const [typed, setTyped] = useState('');
  const isFound = searchFor(typed);
  const found = impact.subjects.filter(({ name, gained, lost }) => [name, ...gained, ...lost].some(isFound));
  const unshown = found.length - MOST_ROWS;
  return (
    <section className="affected" aria-label={t.common.impact.who}>
      <TextInput
        type="search"
        aria-label={t.common.impact.search}
        placeholder={t.common.impact.search}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {found.length === 0 ? (
        <p className="muted" role="status">
          {t.common.impact.noMatch}
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll the list by it
        <ul tabIndex={0} aria-label={t.common.impact.who}>
          {found.slice(0, MOST_ROWS).map(({ type, id, name, gained, lost }) => (
            <li key={`${type} ${id}`}>
              <span data-raw>{name}</span>
              <small>
                {[
                  ...(lost.length > 0 ? [t.common.impact.loses(lost.join(', '))] : []),
                  ...(gained.length > 0 ? [t.common.impact.gains(gained.join(', '))] : []),
                ].join(' · ')}
              </small>
            </li>
          ))}
        </ul>
      )}
      {unshown > 0 && <p className="muted">{t.common.impact.unshown(unshown)}</p>}
      {impact.more > 0 && <p className="muted">{t.common.impact.unnamed(impact.more)}</p>}
    </section>
  );
}
