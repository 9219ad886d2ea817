// Somebody else changed the record meanwhile: shows their value and mine for each field, and lets the person choose.
import { Button, Group, SegmentedControl } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { t } from '../../text.ts';
import type { Editable } from './ProfileTab.tsx';

type Props = {
  /** The record as it is now. */
  theirs: Editable;
  mine: Editable;
  /** The record as it was when the form opened. */
  base: Editable;
  onResolve: (values: Editable) => void;
};

const fields = ['first_name', 'last_name', 'email', 'verified', 'must_change_password'] as const;
type Field = (typeof fields)[number];

const textOf = (value: string | boolean): string => {
  if (typeof value === 'string') return value === '' ? '–' : value;
  return value ? t.users.conflict.yes : t.users.conflict.no;
};

export function Conflict({ theirs, mine, base, onResolve }: Props): ReactElement {
  const [chosen, setChosen] = useState<Partial<Record<Field, 'theirs' | 'mine'>>>({});
  const differing = fields.filter((field) => theirs[field] !== mine[field]);
  // A field that only one side changed needs no question, but shows.
  const sideOf = (field: Field): 'theirs' | 'mine' =>
    chosen[field] ?? (mine[field] === base[field] ? 'theirs' : 'mine');
  const take = (field: Field) => (sideOf(field) === 'mine' ? mine : theirs)[field];
  return (
    <section className="conflict" role="alert" aria-label={t.users.conflict.title}>
      <strong>{t.users.conflict.title}</strong>
      <p>{t.users.conflict.text}</p>
      <ul>
        {differing.map((field) => (
          <li key={field}>
            <span>{t.users.fields[field]}</span>
            <SegmentedControl
              size="xs"
              fullWidth
              aria-label={t.users.fields[field]}
              value={sideOf(field)}
              onChange={(side) => setChosen({ ...chosen, [field]: side === 'mine' ? 'mine' : 'theirs' })}
              data={[
                { value: 'theirs', label: t.users.conflict.theirs(textOf(theirs[field])) },
                { value: 'mine', label: t.users.conflict.mine(textOf(mine[field])) },
              ]}
            />
          </li>
        ))}
      </ul>
      <Group justify="flex-end">
        <Button
          size="compact-md"
          variant="default"
          onClick={() =>
            onResolve({
              ...theirs,
              ...Object.fromEntries(differing.map((field) => [field, take(field)])),
            })
          }
        >
          {t.users.conflict.take}
        </Button>
      </Group>
    </section>
  );
}
