// Values of required attributes for people who are invited together: one value for all of them, and of a unique attribute one
// for each, a line each.
import { type Texts, type Values, valuesOf } from '../../../components/attributes/values.ts';
import type { Attribute } from '../../../data/attributes/attributes.ts';

type Asked = Attribute & { unique: boolean };

/** Whether the values of the people must differ. */
export const isPerPerson = ({ unique }: Asked, people: number): boolean => unique && people > 1;

export const linesOf = (text: string | undefined): string[] => {
  const lines = (text ?? '').split(/\r\n|\r|\n/);
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines;
};

/** Whether everybody has a value of each attribute. */
export const areComplete = (attributes: readonly Asked[], texts: Texts, people: number): boolean =>
  attributes.every((one) =>
    isPerPerson(one, people)
      ? linesOf(texts[one.name]).length === people &&
        linesOf(texts[one.name]).every((line) => line.trim() !== '')
      : (texts[one.name] ?? '').trim() !== '',
  );

/** Returns the values of one person: the one with this index, of so many. */
export const splitValues = (
  attributes: readonly Asked[],
  texts: Texts,
  { index, of }: { index: number; of: number },
): Values =>
  valuesOf(
    attributes,
    Object.fromEntries(
      attributes.map((one) => [
        one.name,
        isPerPerson(one, of) ? (linesOf(texts[one.name])[index] ?? '') : (texts[one.name] ?? ''),
      ]),
    ),
  ).values;

/** Returns the texts without the lines of people who are no longer among the rows. */
export const leftLines = <R>(
  attributes: readonly Asked[],
  texts: Texts,
  { rows, left }: { rows: readonly R[]; left: readonly R[] },
): Texts => ({
  ...texts,
  ...Object.fromEntries(
    attributes
      .filter((one) => isPerPerson(one, rows.length))
      .map(({ name }) => {
        const lines = linesOf(texts[name]);
        return [name, left.map((row) => lines[rows.indexOf(row)] ?? '').join('\n')];
      }),
  ),
});
