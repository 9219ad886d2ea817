// Declares and reads settings: text in, typed value out, all problems reported at once.
// It must not read the environment itself, nor know a setting.
import { isIP } from 'node:net';
import { errorMessage } from '../unknown-values.ts';
import { shownOrigin, shownUrl } from './shown-url.ts';

export type Setting<T> = {
  /** Name of the environment variable. */
  name: string;
  /** Text that is read when the variable is missing or empty. */
  defaultText: string | undefined;
  /** Returns the value. Throws an Error whose message continues a sentence that begins with the name. */
  read: (text: string) => T;
  description: string;
  /** The default in the documentation, for people. */
  defaultShown: string;
  /** What is secret: the whole value, or of a URL the login and the options, or all but scheme and host. */
  secret: 'value' | 'login' | 'path' | null;
  /** Whether the service generates a value if the variable is missing. */
  generated: boolean;
  /** Whether an empty variable is a value; otherwise it counts as missing. */
  emptyCounts: boolean;
};

/** Declares a setting. `shown`: the default in the documentation, if that is not `default`. */
export const setting = <T>(
  name: string,
  read: (text: string) => T,
  description: string,
  options: {
    default?: string;
    shown?: string;
    secret?: 'value' | 'login' | 'path';
    generated?: boolean;
    emptyCounts?: boolean;
  } = {},
): Setting<T> => ({
  name,
  defaultText: options.default,
  read,
  description,
  defaultShown: options.shown ?? options.default ?? '',
  secret: options.secret ?? null,
  generated: options.generated ?? false,
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

/** Reads a value; null for `off`. */
export const orOff =
  <T>(read: (value: string) => T) =>
  (value: string): T | null => {
    if (value.toLowerCase() === 'off') return null;
    try {
      return read(value);
    } catch (error) {
      throw new Error(`${errorMessage(error)}, or off`);
    }
  };

/** Reads true, false or `third`. */
export const flagOr =
  <const T extends string>(third: T) =>
  (value: string): boolean | T => {
    if (value.toLowerCase() === third) return third;
    try {
      return flag(value);
    } catch {
      throw new Error(`is "${value}"; write true, false or ${third}`);
    }
  };

export const choice =
  <const T extends string>(...allowed: T[]) =>
  (value: string): T => {
    const found = allowed.find((one) => one === value);
    if (found === undefined) throw new Error(`is "${value}"; write one of ${allowed.join(', ')}`);
    return found;
  };

/** Reads a time with its zone, as RFC 3339 writes it. */
export const timestamp = (value: string): Date => {
  const isRfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i.test(value);
  if (!isRfc3339 || Number.isNaN(Date.parse(value)))
    throw new Error(`is "${value}"; write a time with its zone, such as 2027-01-31T08:00:00Z`);
  return new Date(value);
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

/** Reads a URL with one of the protocols. Its error omits the value, because URLs contain passwords. */
export const url =
  (protocols: string[]) =>
  (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Error(
        `is not a URL of the form ${protocols.map((protocol) => `${protocol}//…`).join(' or ')}${value.includes('@') ? '; percent-encode special characters in the user and password, such as %23 for #' : ''}`,
      );
    return value;
  };

/** Returns the text of the variable; undefined if it counts as missing. */
function textOf(
  { name, emptyCounts }: Setting<unknown>,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const given = environment[name]?.trim();
  return given === '' && !emptyCounts ? undefined : given;
}

type Values<D extends Record<string, Setting<unknown>>> = { [K in keyof D]: ReturnType<D[K]['read']> };

/** Which settings come from files, and why others, which should, do not. Both are by the name of the setting. */
type FromFiles = { files: ReadonlyMap<string, string>; problems?: ReadonlyMap<string, string> };
const noFiles: FromFiles = { files: new Map() };

/** Returns the values by key. Throws one SettingsError that lists every problem. */
export function readSettings<D extends Record<string, Setting<unknown>>>(
  definitions: D,
  environment: Readonly<Record<string, string | undefined>>,
  { files, problems: unread }: FromFiles = noFiles,
): Values<D> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, definition] of Object.entries(definitions)) {
    const { name, defaultText = '' } = definition;
    const problem = unread?.get(name);
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    try {
      values[key] = definition.read(textOf(definition, environment) ?? defaultText);
    } catch (error) {
      const file = files.get(name);
      problems.push(`${name}${file === undefined ? '' : ` (in ${file})`} ${errorMessage(error)}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  // The loop has set each key to what its `read` returned.
  return values as Values<D>;
}

/** A setting with its value, without secrets. */
export type SettingInForce = {
  name: string;
  /** Null if it is hidden, or generated. Of a URL with a login, only scheme, host and path; of some, no path either. */
  value: string | null;
  /** For people. */
  default: string;
  source: 'environment' | 'file' | 'default' | 'generated';
  is_secret: boolean;
  description: string;
};

/**
 * Returns every setting with its value in force and where the value comes from. `resolve` completes a default that
 * depends on other settings. No result contains a byte of a secret, or reveals its length.
 */
export const settingsInForce = (
  definitions: readonly Setting<unknown>[],
  environment: Readonly<Record<string, string | undefined>>,
  resolve: (setting: { name: string; shown: string }) => string,
  { files }: FromFiles = noFiles,
): SettingInForce[] =>
  definitions.map((definition) => {
    const { name, description, generated, secret } = definition;
    const given = textOf(definition, environment);
    const defaultShown = definition.defaultShown.replaceAll('`', '');
    const about = { name, default: defaultShown, is_secret: secret !== null, description };
    const source = files.has(name) ? 'file' : 'environment';
    if (given !== undefined) return { ...about, value: withoutSecrets(given, secret), source };
    return generated
      ? { ...about, value: null, source: 'generated' }
      : { ...about, value: withoutSecrets(resolve({ name, shown: defaultShown }), null), source: 'default' };
  });

/** Hides a login in any URL, so that a password in a setting that is not secret is not shown either. */
function withoutSecrets(value: string, secret: Setting<unknown>['secret']): string | null {
  if (secret === 'value') return null;
  const url = URL.parse(value);
  const hasLogin = url !== null && (url.username !== '' || url.password !== '');
  if (secret === null && !hasLogin) return value;
  return url === null ? null : secret === 'path' ? shownOrigin(url) : shownUrl(url);
}
