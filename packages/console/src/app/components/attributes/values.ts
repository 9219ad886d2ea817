// Values of attributes as the texts that a form holds, and back.
// It must not judge them, except where a text says nothing that could be sent: the service judges.
import type { Attribute } from '../../data/attributes/attributes.ts';

/** By name. An empty text: no value. */
export type Texts = Readonly<Record<string, string>>;
export type Values = Record<string, unknown>;

/** Why a text cannot be sent: it is no JSON, or an object in it has null, which a merge patch would remove. */
type Problem = 'json' | 'null';
export type Problems = ReadonlyMap<string, Problem>;

type Read = { value: unknown } | { problem: Problem };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the text of a value; empty for undefined. */
export function textOf({ type }: Pick<Attribute, 'type'>, value: unknown): string {
  if (value === undefined || value === null) return '';
  return type === 'json' ? JSON.stringify(value, null, 2) : String(value);
}

export const textsOf = (attributes: readonly Attribute[], values: Values): Texts =>
  Object.fromEntries(attributes.map((one) => [one.name, textOf(one, values[one.name])]));

/**
 * Returns the value that a text stands for; undefined for none. A text that is no number stays a text, for the service to
 * refuse at its field.
 */
export function readText({ type }: Pick<Attribute, 'type'>, text: string): Read {
  const trimmed = text.trim();
  if (trimmed === '') return { value: undefined };
  if (type === 'json') return readJson(trimmed);
  if (type === 'boolean') return { value: trimmed === 'true' ? true : trimmed === 'false' ? false : trimmed };
  if (type !== 'number' && type !== 'integer') return { value: trimmed };
  const number = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(trimmed) ? Number(trimmed) : Number.NaN;
  // JSON has no infinity.
  return { value: Number.isFinite(number) ? number : trimmed };
}

function readJson(text: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'json' };
  }
  if (value === null) return { value: undefined };
  return hasNullMember(value) ? { problem: 'null' } : { value };
}

/** Whether an object that is in no array has null in it. */
const hasNullMember = (value: unknown): boolean =>
  isObject(value) && Object.values(value).some((one) => one === null || hasNullMember(one));

/** Returns the values of the texts, without those that are empty, and what cannot be sent. */
export function valuesOf(
  attributes: readonly Attribute[],
  texts: Texts,
): { values: Values; problems: Problems } {
  const values: Values = {};
  const problems = new Map<string, Problem>();
  for (const one of attributes) {
    const read = readText(one, texts[one.name] ?? '');
    if ('problem' in read) problems.set(one.name, read.problem);
    else if (read.value !== undefined) values[one.name] = read.value;
  }
  return { values, problems };
}

/** Returns the merge patch (RFC 7396) that makes one set of texts of the other, and what cannot be sent. */
export function patchOf(
  attributes: readonly Attribute[],
  from: Texts,
  to: Texts,
): { patch: Values; problems: Problems } {
  const changed = attributes.filter(({ name }) => (from[name] ?? '') !== (to[name] ?? ''));
  const { values, problems } = valuesOf(changed, to);
  const before = valuesOf(changed, from).values;
  const patch: Values = {};
  for (const { name } of changed) {
    if (problems.has(name)) continue;
    const after = values[name];
    patch[name] = after === undefined ? null : mergePatch(before[name], after);
  }
  return { patch, problems };
}

/** Returns the patch that makes `after` of `before`: members that are gone are null. */
function mergePatch(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return Object.fromEntries([
    ...gone.map((name): [string, unknown] => [name, null]),
    ...Object.entries(after)
      .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
      .map(([name, value]): [string, unknown] => [name, mergePatch(before[name], value)]),
  ]);
}
