// Reads and writes the part of the address after the question mark. What does not fit is ignored, so that no link breaks a
// page. All values are texts in the address.

export type Given = Readonly<Record<string, unknown>>;

export const parseSearch = (search: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(search));

/** Leaves out what is undefined. */
export function stringifySearch(given: Given): string {
  const present = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** Every part of the address may be absent. */
export const optional = <T extends object>(search: T): Partial<T> => search;

/** The longest text that the searches of the service take. */
const MAX_TEXT = 250;

/**
 * Returns a text without what the service refuses: characters beyond `max`, NUL, halves of surrogate pairs. A link may
 * also be made by code, with values that are no texts.
 */
export function textIn(given: Given, name: string, max = MAX_TEXT): string | undefined {
  const text = String(given[name] ?? '')
    .toWellFormed()
    .replaceAll('\0', '');
  return (text.length <= max ? text : [...text].slice(0, max).join('')) || undefined;
}

export const choiceIn = <const C extends readonly string[]>(
  given: Given,
  name: string,
  choices: C,
): C[number] | undefined => choices.find((one) => one === given[name]);

/** A condition on an attribute, such as `cost_center=4711`. */
export function conditionIn(given: Given, name: string, max: number): string | undefined {
  const text = textIn(given, name, max) ?? '';
  return /^[a-z][a-z0-9_]{0,49}=./.test(text) ? text : undefined;
}

/** Digits only: `Number` would also take `1e3`, `0x10` and spaces. */
export function numberIn(given: Given, name: string, min: number, max: number): number | undefined {
  const text = textIn(given, name) ?? '';
  const value = Number(text);
  return /^\d+$/.test(text) && value >= min && value <= max ? value : undefined;
}

/** The id of a delivery: a positive number of up to 18 digits, which is too long for `Number`. */
export function sequenceIn(given: Given, name: string): string | undefined {
  const text = textIn(given, name) ?? '';
  return /^[1-9]\d{0,17}$/.test(text) ? text : undefined;
}

export function uuidIn(given: Given, name: string): string | undefined {
  const value = textIn(given, name)?.toLowerCase();
  return value && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value) ? value : undefined;
}

/** A day of the calendar, such as 2026-11-03, as inputs of the type `date` have it. Nothing here is older than 1970. */
export function dayIn(given: Given, name: string): string | undefined {
  const text = textIn(given, name) ?? '';
  if (!/^(19[7-9]|[2-9]\d\d)\d-\d{2}-\d{2}$/.test(text)) return undefined;
  const day = new Date(`${text}T00:00:00Z`);
  // Some parsers take February 31 for a day in March.
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? text : undefined;
}

/** A moment in UTC, such as 2026-11-03T14:05:00.000Z, as `Date` writes it. */
export function momentIn(given: Given, name: string): string | undefined {
  const text = textIn(given, name) ?? '';
  const at = new Date(text);
  return !Number.isNaN(at.getTime()) && at.toISOString() === text && dayIn({ day: text.slice(0, 10) }, 'day')
    ? text
    : undefined;
}

export function flagIn(given: Given, name: string): boolean | undefined {
  const text = textIn(given, name);
  if (text === 'true') return true;
  return text === 'false' ? false : undefined;
}
