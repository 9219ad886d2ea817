// The commands that every kind of record has: get, create, update, delete. What only one kind does is in its own file.
import type { InputOf, Operation, ResultOf } from '@castellan/sdk';
import { argumentOf, type Command, optionOf, UsageError } from '../command.ts';
import {
  changeOptions,
  changeUntyped,
  destructiveOptions,
  idempotency,
  ifVersion,
  report,
  retryOption,
  untyped,
  versionOf,
  versionOption,
} from './changes.ts';
import { type Api, apiOptions, overApi } from './connection.ts';
import {
  type FactsOf,
  type Field,
  type FieldsOf,
  type KeyOf,
  optionsOf,
  textField,
  valuesOf,
} from './fields.ts';
import { type Fact, printRecord } from './output.ts';

export const nameArgument = (kind: string, name = kind.replace(' ', '-')) => ({
  name: `<${name}>`,
  help: `The name or the id of the ${kind}.`,
});

export const nameField = textField({ flags: '--name <name>', help: 'The name.' });
export const descriptionField = textField({ flags: '--description <text>', help: 'What it is for.' });
export const externalIdField: Field<string | null | undefined> = {
  option: { flags: '--external-id <id>', help: "The id that another system gave to it; '' for none." },
  read: ({ call }) => {
    const value = optionOf(call, 'external-id');
    return value === '' ? null : value;
  },
};

/** A kind of records: what commands call it, and the paths of all its records and of one. */
export type Kind<All extends string, One extends string> = {
  /** As sentences have it: `role group`. With a hyphen, the name of its commands, unless `command` is another. */
  noun: string;
  command?: string;
  argument: { name: string; help: string };
  all: All;
  one: One;
  /** Returns the id of a record by its name or its id. */
  find: (api: Api, text: string) => Promise<string>;
  /** Its updates and deletions have previews. */
  hasPreviews?: true;
  /** Its records have no ETag, so that no change can ask for a version. */
  isUnversioned?: true;
};

type OperationOf<M extends string, P extends string> = Extract<Operation, `${M} ${P}`>;
type BodyOf<O extends Operation> = InputOf<O> extends { body: infer B } ? B : never;
type DataOf<O extends Operation> = ResultOf<O> extends { data: infer D } ? D : never;

/** `LeftOut`: fields that the command does not show or set. */
type Get<D, LeftOut> = { summary: string; facts: (data: D) => FactsOf<D, LeftOut, Fact> };
type Create<B, D, LeftOut> = {
  summary: string;
  /** The name of the new record. */
  argument?: { name: string; help: string };
  /** Their options come before those of every creation. */
  fields: FieldsOf<B, LeftOut | 'name'>;
  hasPreview?: boolean;
  /** Returns what is printed. */
  done?: (body: B, data: D) => string;
};
type Update<B, LeftOut> = {
  summary: string;
  fields: FieldsOf<B, LeftOut>;
  /** Reads what the change takes away, and the header for the version that has it. The command then asks. */
  loss?: (api: Api, id: string, body: B) => Promise<Loss>;
};
type Loss = { headers?: Record<string, string>; consequences: string[] };
type Delete = { summary: string; consequence?: (name: string) => string };

/** Returns the makers of the commands of a kind. */
export function commandsOf<All extends string, One extends string>(kind: Kind<All, One>) {
  const { noun, argument, find, hasPreviews: preview = false } = kind;
  const { command = noun.replace(' ', '-') } = kind;
  const subject = noun.charAt(0).toUpperCase() + noun.slice(1);
  const versionOptions = kind.isUnversioned ? [] : [versionOption];
  const parameter = /\{(\w+)\}/.exec(kind.one)?.[1] ?? '';
  const named = (api: Api): string => argumentOf(api.call, argument.name.slice(1, -1));
  const pathIn = async (api: Api) => ({ [parameter]: await find(api, named(api)) });

  type Data = DataOf<OperationOf<'GET', One>>;
  type Creation = BodyOf<OperationOf<'POST', All>> & { name: string };
  type Created = DataOf<OperationOf<'POST', All>>;
  type Change = BodyOf<OperationOf<'PUT', One>> & object;

  const get = <LeftOut extends KeyOf<Data> = never>({ summary, facts }: Get<Data, LeftOut>): Command => ({
    summary,
    arguments: [argument],
    options: apiOptions,
    run: overApi(async (api) => {
      const answer = await untyped(api)(`GET ${kind.one}`, { path: await pathIn(api) });
      const { data } = answer.result as { data: Data };
      const shown = Object.values<Fact | null>(facts(data)).filter((fact) => fact !== null);
      const version: Fact[] = kind.isUnversioned ? [] : [['version', versionOf(answer)]];
      printRecord(api, answer.result, [...shown, ...version]);
    }),
  });

  const create = <LeftOut extends KeyOf<Creation> = never>({
    summary,
    argument: created = { name: '<name>', help: `The name of the new ${noun}.` },
    fields,
    hasPreview = false,
    done = ({ name }) => `${subject} ${name} created.`,
  }: Create<Creation, Created, LeftOut>): Command => ({
    summary,
    arguments: [created],
    options: [...optionsOf(fields), retryOption, ...changeOptions, ...apiOptions],
    run: overApi(async (api) => {
      const name = argumentOf(api.call, created.name.slice(1, -1));
      const body = { name, ...(await valuesOf(api, fields)) } as Creation;
      const input = { body, ...idempotency(api.call) };
      const answer = await changeUntyped(api, `POST ${kind.all}`, input, { preview: hasPreview });
      if (!answer) return;
      const { data } = answer.result as { data: Created };
      report(api, answer, done(body, data));
    }),
  });

  const update = <LeftOut extends KeyOf<Change> = never>({
    summary,
    fields,
    loss,
  }: Update<Change, LeftOut>): Command => ({
    summary,
    arguments: [argument],
    options: [
      ...optionsOf(fields),
      versionOption,
      ...(loss ? destructiveOptions : changeOptions),
      ...apiOptions,
    ],
    run: overApi(async (api) => {
      const body = (await valuesOf(api, fields)) as Change;
      if (Object.keys(body).length === 0)
        throw new UsageError(`no change is given. See \`castellan help ${command} update\`.`);
      const path = await pathIn(api);
      const { headers, consequences } = (await loss?.(api, String(path[parameter]), body)) ?? {};
      const answer = await changeUntyped(
        api,
        `PUT ${kind.one}`,
        { path, body, headers, ...ifVersion(api.call) },
        { preview, ...(consequences && { consequences }) },
      );
      report(api, answer, `${subject} changed.`);
    }),
  });

  const deletion = ({
    summary,
    consequence = (name) => `The ${noun} ${name} is deleted. This cannot be undone.`,
  }: Delete): Command => ({
    summary,
    arguments: [argument],
    options: [...versionOptions, ...destructiveOptions, ...apiOptions],
    run: overApi(async (api) => {
      const input = { path: await pathIn(api), ...(kind.isUnversioned ? {} : ifVersion(api.call)) };
      const options = { preview, consequences: [consequence(named(api))] };
      report(api, await changeUntyped(api, `DELETE ${kind.one}`, input, options), `${subject} deleted.`);
    }),
  });

  return {
    get,
    create,
    update,
    delete: deletion,
    /** Reads the id of the record that the call names. */
    idIn: (api: Api): Promise<string> => find(api, named(api)),
  };
}
