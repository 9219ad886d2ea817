// How settings are declared and read: text in, typed value out, every problem found at once.
// It reads no environment by itself and knows no setting.
import { isIP } from 'node:net';

export type Setting<T> = {
  /** Name of the environment variable. */
  name: string;
  /** Text that stands in when the variable is missing or empty. */
  defaultText: string | undefined;
  /** Throws an Error whose message continues "NAME …". */
  read: (text: string) => T;
  description: string;
  /** What the documentation shows as the default, where that is not `defaultText`. */
  defaultShown: string;
  secret: boolean;
  /** An empty variable is a value of its own; otherwise it counts as missing. */
  emptyCounts: boolean;
};

export const setting = <T>(
  name: string,
  defaultText: string | undefined,
  read: (text: string) => T,
  description: string,
  options: { shown?: string; secret?: boolean; emptyCounts?: boolean } = {},
): Setting<T> => ({
  name,
  defaultText,
  read,
  description,
  defaultShown: options.shown ?? defaultText ?? '',
  secret: options.secret ?? false,
  emptyCounts: options.emptyCounts ?? false,
});

export class SettingsError extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(
      `${problems.length === 1 ? 'A setting is' : `${problems.length} settings are`} wrong:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

export const text = (value: string): string => {
  if (value.trim() === '') throw new Error('is empty');
  return value;
};

export const optional =
  <T>(read: (value: string) => T) =>
  (value: string): T | undefined =>
    value === '' ? undefined : read(value);

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    if (!/^-?\d{1,9}$/.test(value) || Number(value) < min || Number(value) > max)
      throw new Error(`is "${value}"; write a whole number from ${min} to ${max}`);
    return Number(value);
  };

export const number =
  (min: number, max: number) =>
  (value: string): number => {
    if (!/^\d{1,9}(\.\d{1,9})?$/.test(value) || Number(value) < min || Number(value) > max)
      throw new Error(`is "${value}"; write a number from ${min} to ${max}, such as 0.5`);
    return Number(value);
  };

export const flag = (value: string): boolean => {
  const lower = value.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(lower)) return true;
  if (['false', '0', 'no', 'off'].includes(lower)) return false;
  throw new Error(`is "${value}"; write true or false`);
};

export const choice =
  <const T extends string>(...allowed: T[]) =>
  (value: string): T => {
    const found = allowed.find((one) => one === value);
    if (found === undefined) throw new Error(`is "${value}"; write one of ${allowed.join(', ')}`);
    return found;
  };

export const list =
  <T>(read: (value: string) => T) =>
  (value: string): T[] =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map(read);

export const address = (value: string): string => {
  if (value !== 'localhost' && isIP(value) === 0)
    throw new Error(`is "${value}"; write an IP address such as 127.0.0.1 or 0.0.0.0`);
  return value;
};

/** The message leaves the value out: URLs carry passwords. */
export const url =
  (protocols: string[]) =>
  (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Error(`is no URL of the form ${protocols.map((protocol) => `${protocol}//…`).join(' or ')}`);
    return value;
  };

type Values<D extends Record<string, Setting<unknown>>> = { [K in keyof D]: ReturnType<D[K]['read']> };

export function readSettings<D extends Record<string, Setting<unknown>>>(
  definitions: D,
  environment: Record<string, string | undefined>,
): Values<D> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, definition] of Object.entries(definitions)) {
    const given = environment[definition.name];
    try {
      const missing = given === undefined || (given.trim() === '' && !definition.emptyCounts);
      values[key] = definition.read(missing ? (definition.defaultText ?? '') : given.trim());
    } catch (error) {
      problems.push(`${definition.name} ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return values as Values<D>;
}
