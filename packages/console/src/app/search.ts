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

/** A link may also be made by code, with values that are no texts. */
export const textIn = (given: Given, name: string): string | undefined =>
  given[name] === undefined || given[name] === '' ? undefined : String(given[name]);

export const choiceIn = <const C extends readonly string[]>(
  given: Given,
  name: string,
  choices: C,
): C[number] | undefined => choices.find((one) => one === given[name]);

export function numberIn(given: Given, name: string, min: number, max: number): number | undefined {
  const text = textIn(given, name);
  const value = Number(text);
  return text !== undefined && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
}

export function uuidIn(given: Given, name: string): string | undefined {
  const value = textIn(given, name)?.toLowerCase();
  return value && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value) ? value : undefined;
}

/** A time as inputs of the type `datetime-local` have it, without a zone. */
export function timeIn(given: Given, name: string): string | undefined {
  const text = textIn(given, name);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text ?? '');
  return isTime && !Number.isNaN(Date.parse(text ?? '')) ? text : undefined;
}

export function flagIn(given: Given, name: string): boolean | undefined {
  const text = textIn(given, name);
  if (text === 'true') return true;
  return text === 'false' ? false : undefined;
}
