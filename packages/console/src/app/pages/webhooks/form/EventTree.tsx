// Chooses types of events: all, whole groups, or one by one. Each type shows its sample beside the form.
import type { EventDescription } from '@castellan/sdk';
import { CloseButton, TextInput } from '@mantine/core';
import { IconChevronRight, IconSearch } from '@tabler/icons-react';
import { type ReactElement, useId, useMemo, useState } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { later, t } from '../../../text.ts';
import { searchFor } from '../../../text-search.ts';
import { meaningOf } from '../event-texts.ts';
import { type EventGroup, groupsOf, typesOf, withGroup, withType } from './event-tree.ts';

type Props = {
  catalogue: readonly EventDescription[];
  patterns: readonly string[];
  error: string | null;
  isReadOnly: boolean;
  /** The type whose sample shows. */
  shown: string | undefined;
  onShow: (type: string) => void;
  onChange: (patterns: string[]) => void;
};

/** While something is typed, the groups show what matches, and all groups are open. Those chosen in part are open at first. */
export function EventTree({ catalogue, patterns, error, isReadOnly, shown, ...acts }: Props): ReactElement {
  const texts = later.webhooks.tree;
  const id = useId();
  const [typed, setTyped] = useState('');
  const types = useMemo(() => catalogue.map(({ type }) => type), [catalogue]);
  const groups = useMemo(() => groupsOf(types), [types]);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(partlyChosen(groups, patterns)));
  const meanings = useMemo(
    () => new Map(catalogue.map((one) => [String(one.type), meaningOf(one)])),
    [catalogue],
  );
  const chosen = new Set(typesOf(patterns, types));
  const isMatch = searchFor(typed);
  const matching = (group: EventGroup): readonly string[] =>
    group.types.filter((type) => isMatch(`${type} ${meanings.get(type) ?? ''}`));
  const shownGroups = groups
    .map((group) => ({ group, types: matching(group) }))
    .filter((one) => one.types.length > 0);
  const isAll = patterns.includes('*');
  const toggleOpen = (name: string): void =>
    setOpen((now) => {
      const next = new Set(now);
      if (!next.delete(name)) next.add(name);
      return next;
    });
  return (
    <fieldset
      className="event-choice"
      aria-describedby={error === null ? undefined : `${id}-error`}
      aria-invalid={error === null ? undefined : true}
      tabIndex={error === null ? undefined : -1}
    >
      <legend>{later.webhooks.fields.events}</legend>
      <p className="muted">{texts.help}</p>
      {patterns.length > 0 && (
        <ul className="chips" aria-label={texts.chosen} data-raw>
          {patterns.map((pattern) => (
            <li key={pattern} className="pattern mono">
              {pattern}
              {!isReadOnly && (
                <CloseButton
                  size="sm"
                  aria-label={texts.remove(pattern)}
                  onClick={() => acts.onChange(patterns.filter((one) => one !== pattern))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {error !== null && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      <TextInput
        type="search"
        aria-label={texts.search}
        placeholder={texts.search}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <label className="event-all">
        <input
          type="checkbox"
          checked={isAll}
          disabled={isReadOnly}
          onChange={() => acts.onChange(isAll ? [] : ['*'])}
        />
        <strong>{texts.all}</strong>
        <span className="muted">{texts.countOf(formatNumber(chosen.size), formatNumber(types.length))}</span>
      </label>
      {shownGroups.length === 0 && <p className="muted">{t.common.list.noMatch}</p>}
      <ul className="event-groups" aria-label={texts.label}>
        {shownGroups.map(({ group, types: members }) => {
          const name = group.prefix ?? '';
          const isOpen = typed.trim() !== '' || open.has(name);
          return (
            <li key={name}>
              <GroupRow
                group={group}
                chosen={group.types.filter((type) => chosen.has(type)).length}
                isOpen={isOpen}
                isReadOnly={isReadOnly}
                listId={`${id}-${name}`}
                onOpen={() => toggleOpen(name)}
                onToggle={(isOn) => acts.onChange(withGroup(patterns, group, { isOn, groups }))}
              />
              {isOpen && (
                <ul className="event-types" id={`${id}-${name}`}>
                  {members.map((type) => (
                    <li key={type} data-shown={type === shown || undefined}>
                      <label>
                        <input
                          type="checkbox"
                          checked={chosen.has(type)}
                          disabled={isReadOnly}
                          onChange={(event) => {
                            const isOn = event.currentTarget.checked;
                            if (isOn) acts.onShow(type);
                            acts.onChange(withType(patterns, type, { isOn, groups }));
                          }}
                        />
                        <span>
                          <span className="mono">{type}</span>
                          <span className="row-note" data-raw>
                            {meanings.get(type)}
                          </span>
                        </span>
                      </label>
                      <button
                        type="button"
                        className="text-button"
                        aria-pressed={type === shown}
                        aria-label={texts.sampleOf(type)}
                        onClick={() => acts.onShow(type)}
                      >
                        {texts.sample}
                      </button>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          );
        })}
      </ul>
    </fieldset>
  );
}

/** Returns the names of the groups whose row alone does not say what is chosen. */
const partlyChosen = (groups: readonly EventGroup[], patterns: readonly string[]): string[] =>
  groups
    .filter(({ types }) => {
      const count = typesOf(patterns, types).length;
      return count > 0 && count < types.length;
    })
    .map(({ prefix }) => prefix ?? '');

type GroupProps = {
  group: EventGroup;
  chosen: number;
  isOpen: boolean;
  isReadOnly: boolean;
  listId: string;
  onOpen: () => void;
  onToggle: (isOn: boolean) => void;
};

/** A group of which a part is chosen takes the rest at the first click. */
function GroupRow({
  group: { prefix, types },
  chosen,
  isOpen,
  isReadOnly,
  ...rest
}: GroupProps): ReactElement {
  const texts = later.webhooks.tree;
  const name = prefix === null ? texts.others : `${prefix}*`;
  const isWhole = chosen === types.length;
  return (
    <div className="event-group">
      <input
        type="checkbox"
        aria-label={texts.group(name)}
        checked={isWhole}
        disabled={isReadOnly}
        ref={(input) => {
          if (input) input.indeterminate = chosen > 0 && !isWhole;
        }}
        onChange={() => rest.onToggle(!isWhole)}
      />
      <button
        type="button"
        className="event-fold"
        aria-expanded={isOpen}
        aria-controls={isOpen ? rest.listId : undefined}
        onClick={rest.onOpen}
      >
        <IconChevronRight size={14} aria-hidden className="mirrored" />
        <span className={prefix === null ? undefined : 'mono'}>{name}</span>
        <span className="muted">{texts.countOf(formatNumber(chosen), formatNumber(types.length))}</span>
      </button>
    </div>
  );
}
