// The fields of records in commands: the options that set them, and which ones a command has.
// It must not name a field. A new field of the API is a compile error in each command until the command has it or its
// `LeftOut` names it.
import { type Option, optionOf } from '../command.ts';
import type { Api } from './connection.ts';

/** A field of a body. `undefined` keeps it out of the body. */
export type Field<V> = { option: Option; read: (api: Api) => V | Promise<V> };

/** The keys of each member of a union. */
export type KeyOf<T> = T extends unknown ? keyof T : never;
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;

/** Every field of a body, except those that are left out. */
export type FieldsOf<B, LeftOut> = { [K in Exclude<KeyOf<B>, LeftOut>]: Field<ValueOf<B, K>> };
type AnyFields = Readonly<Record<string, Field<unknown>>>;

/** Returns the name of an option without its hyphens and its value. */
export const optionName = ({ flags }: Option): string => flags.replace(/^--/, '').replace(/ .*/, '');

/** Returns the field whose value is the text of an option. */
export const textField = (option: Option): Field<string | undefined> => ({
  option,
  read: ({ call }) => optionOf(call, optionName(option)),
});

/** Returns the field that an option sets to yes or no. */
export const yesNoField = (name: string, help: string): Field<boolean | undefined> => ({
  option: { flags: `--${name} <yes|no>`, help, choices: ['yes', 'no'] },
  read: ({ call }) => {
    const value = optionOf(call, name);
    return value === undefined ? undefined : value === 'yes';
  },
});

/** Returns the options that set the fields, in their order. */
export const optionsOf = (fields: AnyFields): Option[] => Object.values(fields).map(({ option }) => option);

/** Reads the values of the fields that are given, in their order. */
export async function valuesOf(api: Api, fields: AnyFields): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, { read }] of Object.entries(fields)) {
    const value = await read(api);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** What a command prints of each field; null for a field that other members of a union have. */
export type FactsOf<T, LeftOut, Fact> = {
  [K in Exclude<KeyOf<T>, LeftOut>]: K extends keyof T ? Fact : Fact | null;
};
