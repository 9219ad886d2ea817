// Attributes in a CSV file: a column for each (`attributes.cost_center`), or all of them as JSON in the column `attributes`, as
// exports of the service have them. It must not judge values: the service does.
import type { UserAttribute } from '@castellan/sdk';
import { readText, type Texts, type Values } from '../../../components/attributes/values.ts';

const JSON_COLUMN = 'attributes';
const PREFIX = 'attributes.';

/** What the row has of attributes, as text, by the name of the column. */
export type AttributeCells = Texts;

/** Returns the columns that hold attributes, in their order. */
export const attributeColumns = (names: readonly string[]): string[] =>
  names.filter((name) => name === JSON_COLUMN || name.startsWith(PREFIX));

export const columnOf = (name: string): string => `${PREFIX}${name}`;

/** `detail` names attributes. */
export type AttributeProblem = {
  problem: 'attributeUnknown' | 'attributeMissing' | 'attributeJson';
  detail: string;
};

/** Returns the values for a new user, or why they could not be sent. */
export function readAttributes(
  cells: AttributeCells,
  attributes: readonly UserAttribute[],
): { values: Values } | AttributeProblem {
  const values = readObject(cells[JSON_COLUMN] ?? '');
  if (!values) return { problem: 'attributeJson', detail: JSON_COLUMN };
  const given = Object.entries(cells).filter(
    ([column, text]) => column.startsWith(PREFIX) && text.trim() !== '',
  );
  const known = new Map(attributes.map((one) => [one.name, one]));
  const names = [...Object.keys(values), ...given.map(([column]) => column.slice(PREFIX.length))];
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) return { problem: 'attributeUnknown', detail: unknown.join(', ') };
  for (const [column, text] of given) {
    const attribute = known.get(column.slice(PREFIX.length));
    const read = attribute && readText(attribute, text);
    if (!read || 'problem' in read) return { problem: 'attributeJson', detail: column };
    values[attribute.name] = read.value;
  }
  const missing = attributes.filter(({ name, required }) => required && (values[name] ?? null) === null);
  return missing.length > 0
    ? { problem: 'attributeMissing', detail: missing.map(({ label }) => label).join(', ') }
    : { values };
}

/** Returns the object of a JSON text; null if it is none. */
function readObject(text: string): Values | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
