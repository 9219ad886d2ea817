// `castellan user attribute`: the values that a user has of attributes; `--set` gives them to new users too.
import type { ResultOf } from '@castellan/sdk';
import { change, changeOptions, ifVersion, report, versionOption } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { tableOf } from '../../../api/output.ts';
import { jsonText } from '../../../api/text.ts';
import { argumentOf, type Command, Failure, listOf, type Option, UsageError } from '../../../command.ts';
import { user, userOf } from './arguments.ts';

type Type = ResultOf<'GET /api/v1/user-attributes'>['data'][number]['type'];
const texts: readonly Type[] = ['string', 'date', 'url', 'enum'];

export const setOption: Option = {
  flags: '--set <name=value>',
  help: 'A value of an attribute, as JSON for numbers, booleans and json; nothing after = removes it. Repeatable.',
  list: true,
};

/**
 * Returns the merge patch that `--set` asks for, or undefined without it. Rejects with a Failure (3) for an attribute that
 * is not declared.
 */
export async function attributesOf({ client, call }: Api): Promise<Record<string, unknown> | undefined> {
  if (call.values.set === undefined) return undefined;
  const types = new Map<string, Type>();
  for await (const one of client.items('/api/v1/user-attributes', { query: { size: 100 } }))
    types.set(one.name, one.type);
  return Object.fromEntries(
    listOf(call, 'set').map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw new UsageError(`--set is "${text}"; write the name, = and the value.`);
      const [name, value] = [text.slice(0, at), text.slice(at + 1)];
      const type = types.get(name);
      if (type === undefined) throw new Failure(3, `there is no attribute "${name}". Nothing was changed.`);
      if (value === '') return [name, null];
      return [name, texts.includes(type) ? value : jsonIn(name, value)];
    }),
  );
}

function jsonIn(name: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new UsageError(`the value of ${name} must be JSON, such as 7, true or '{"a": 1}'.`);
  }
}

async function show({ client, call }: Api, user_id: string): Promise<void> {
  const body = await client.get('/api/v1/users/{user_id}/attributes', { path: { user_id } });
  if (call.values.json === true) return call.print(jsonText(body, 2));
  tableOf<[string, unknown]>({ call }, [
    ['NAME', ([name]) => name],
    ['VALUE', ([, value]) => (typeof value === 'string' ? value : JSON.stringify(value))],
  ])(Object.entries(body.data));
}

export const attributes: Readonly<Record<string, Command>> = {
  attribute: {
    summary: 'Show the attributes of a user, or change them with --set.',
    arguments: [user],
    options: [setOption, versionOption, ...changeOptions, ...apiOptions],
    run: overApi(async (api) => {
      const user_id = await userOf(api);
      const patch = await attributesOf(api);
      if (patch === undefined) return show(api, user_id);
      const answer = await change(api, 'PATCH /api/v1/users/{user_id}/attributes', {
        path: { user_id },
        body: patch,
        ...ifVersion(api.call),
      });
      report(api, answer, `Attributes of ${argumentOf(api.call, 'user')} changed.`);
    }),
  },
};
