// Of a record that somebody else changed while a form was open: for each field, the person chooses between what is stored
// now and what they typed.
import { type ReactElement, useId, useState } from 'react';
import { t } from '../text.ts';
import './field-choices.css';

type Side = 'theirs' | 'mine';

export type Versions<Values> = {
  /** What the form began with. */
  base: Values;
  mine: Values;
  /** What is stored now. */
  theirs: Values;
};

/** A field of the form, in the order in which they show. `textOf` says what a value means. */
export type Field<Values> = {
  name: keyof Values & string;
  label: string;
  textOf?: (value: string) => string;
};

export type FieldChoicesProps<Values> = {
  versions: Versions<Values>;
  fields: readonly Field<Values>[];
  sideOf: (name: keyof Values) => Side;
  choose: (name: keyof Values, side: Side) => void;
};

/** Keeps the choices. What the person did not touch stays as it is stored, unless they choose otherwise. */
export function useFieldChoices<Values extends Record<string, string | boolean>>(
  versions: Versions<Values>,
  fields: readonly Field<Values>[],
): { shown: FieldChoicesProps<Values>; resolved: Values } {
  const { base, mine, theirs } = versions;
  const [chosen, setChosen] = useState<Partial<Record<keyof Values, Side>>>({});
  const sideOf = (name: keyof Values): Side =>
    chosen[name] ?? (mine[name] === base[name] ? 'theirs' : 'mine');
  const own = fields.filter(({ name }) => sideOf(name) === 'mine');
  return {
    shown: {
      versions,
      fields,
      sideOf,
      choose: (name, side) => setChosen({ ...chosen, [name]: side }),
    },
    resolved: { ...theirs, ...Object.fromEntries(own.map(({ name }) => [name, mine[name]])) },
  };
}

/** Shows the fields whose values differ. */
export function FieldChoices<Values extends Record<string, string | boolean>>({
  versions,
  fields,
  sideOf,
  choose,
}: FieldChoicesProps<Values>): ReactElement {
  const { mine, theirs } = versions;
  const id = useId();
  const differing = fields.filter(({ name }) => theirs[name] !== mine[name]);
  return (
    <>
      <p>{differing.length > 0 ? t.common.conflict.text : t.common.conflict.same}</p>
      {differing.map(({ name, label, textOf = String }) => (
        <fieldset key={name} className="field-choice">
          <legend>{label}</legend>
          {(
            [
              ['theirs', theirs],
              ['mine', mine],
            ] as const
          ).map(([side, values]) => (
            <label key={side}>
              <input
                type="radio"
                name={`${id}-${name}`}
                checked={sideOf(name) === side}
                onChange={() => choose(name, side)}
              />
              <span>{t.common.conflict[side](wordsOf(values[name], textOf))}</span>
            </label>
          ))}
        </fieldset>
      ))}
    </>
  );
}

function wordsOf(value: string | boolean | undefined, textOf: (value: string) => string): string {
  const { yes, no, none } = t.common.conflict;
  if (typeof value === 'boolean') return value ? yes : no;
  return textOf(value ?? '') || none;
}
