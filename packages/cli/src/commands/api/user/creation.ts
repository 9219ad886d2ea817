// `castellan user create` and `invite`: one user, or one for each row of NDJSON.
import type { CreateUser, Invite } from '@castellan/sdk';
import { change, changeOptions, idempotency, isDryRun, report, retryOption } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { optionName, valuesOf } from '../../../api/fields.ts';
import { roleIds } from '../../../api/names.ts';
import { eachRow, fromOption, openRows, type Row, textIn, textsIn } from '../../../api/rows.ts';
import { type Command, given, listOf, type Option, optionOf, UsageError } from '../../../command.ts';
import { readPassword } from '../../../input/password-input.ts';
import { nameFields, nameOptions } from './arguments.ts';
import { attributesOf, setOption } from './attributes.ts';

const roleOption: Option = { flags: '--role <role>', help: 'A role, by name or id. Repeatable.', list: true };

/** A new user is active, verified and no superuser, without an external id. Roles have other names in the API. */
type NotCreated = 'is_active' | 'verified' | 'is_superuser' | 'role_ids' | 'roles' | 'external_id';

async function rowOfOptions(api: Api): Promise<Row> {
  const names = await valuesOf(api, nameFields);
  for (const [name, { option }] of Object.entries(nameFields))
    if (names[name] === undefined) throw new UsageError(`--${optionName(option)} is missing.`);
  return { ...names, roles: listOf(api.call, 'role'), attributes: await attributesOf(api) };
}

/** Creates a user. Returns null for a dry run. */
async function create(api: Api, row: Row, password: string, more: { must_change_password?: boolean } = {}) {
  const body = given({
    email: textIn(row, 'email'),
    first_name: textIn(row, 'first_name'),
    last_name: textIn(row, 'last_name'),
    password,
    role_id: await roleIds(api, textsIn(row, 'roles')),
    must_change_password: more.must_change_password,
    attributes: attributesIn(row),
  } satisfies Record<Exclude<keyof CreateUser, NotCreated>, unknown>);
  return change(api, 'POST /api/v1/users', { body, ...idempotency(api.call) });
}

const fromRows = (api: Api, from: string, work: (row: Row) => Promise<{ message: string; id?: string }>) => {
  for (const name of [...nameOptions, roleOption, setOption, retryOption].map(optionName))
    if (api.call.values[name] !== undefined)
      throw new UsageError(`--from has it for each row: leave out --${name}.`);
  return eachRow(api.call, openRows(from), work);
};

async function createUser(api: Api): Promise<void> {
  const from = optionOf(api.call, 'from');
  const must_change_password = api.call.values['must-change-password'] === true;
  if (from === undefined) {
    const row = await rowOfOptions(api);
    const password = isDryRun(api) ? '' : await readPassword(process.stdin, process.stderr);
    return report(
      api,
      await create(api, row, password, { must_change_password }),
      `User ${row.email} created.`,
    );
  }
  await fromRows(api, from, async (row) => {
    const answer = await create(api, row, textIn(row, 'password'), { must_change_password });
    return {
      message: `${row.email} ${answer ? 'created' : 'would be created'}`,
      ...(answer && { id: answer.result.data.id }),
    };
  });
}

/** The service says which attributes it takes. */
function attributesIn({ attributes }: Row): Record<string, unknown> | undefined {
  if (attributes === undefined || attributes === null) return undefined;
  if (typeof attributes !== 'object' || Array.isArray(attributes))
    throw new UsageError('attributes must be an object with values by the names of attributes.');
  return { ...attributes };
}

/** Invites somebody. Returns null for a dry run. */
async function invite(api: Api, row: Row) {
  const body = given({
    email: textIn(row, 'email'),
    first_name: optionalTextIn(row, 'first_name'),
    last_name: optionalTextIn(row, 'last_name'),
    role_id: await roleIds(api, textsIn(row, 'roles')),
    expires_in_hours: hoursOf(api),
    attributes: attributesIn(row),
  } satisfies Record<Exclude<keyof Invite, 'role_ids' | 'roles'>, unknown>);
  return change(api, 'POST /api/v1/users/invitations', { body, ...idempotency(api.call) });
}

/** The service says which numbers it takes. */
function hoursOf({ call }: Api): number | undefined {
  const text = optionOf(call, 'expires-in-hours');
  if (text === undefined) return undefined;
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new UsageError(`--expires-in-hours is "${text}"; write a number of hours such as 72.`);
}

/** An empty name of a row is none. */
const optionalTextIn = (row: Row, field: string): string | undefined =>
  row[field] === undefined || row[field] === '' ? undefined : textIn(row, field);

async function inviteUser(api: Api): Promise<void> {
  const from = optionOf(api.call, 'from');
  if (from !== undefined)
    return fromRows(api, from, async (row) => {
      const answer = await invite(api, row);
      return {
        message: `${row.email} ${answer ? 'invited' : 'would be invited'}`,
        ...(answer && { id: answer.result.data.id }),
      };
    });
  const names = await valuesOf(api, nameFields);
  if (names.email === undefined) throw new UsageError('--email is missing.');
  report(
    api,
    await invite(api, {
      ...names,
      roles: listOf(api.call, 'role'),
      attributes: await attributesOf(api),
    }),
    `User ${names.email} invited. The mail is on its way.`,
  );
}

export const creation: Readonly<Record<string, Command>> = {
  create: {
    summary: 'Create a verified user with a password.',
    options: [
      ...nameOptions,
      roleOption,
      setOption,
      { flags: '--must-change-password', help: 'The user must choose a password at the first sign-in.' },
      fromOption,
      retryOption,
      ...changeOptions,
      ...apiOptions,
    ],
    details: [
      'The password is read from standard input; at a terminal, the command asks for it.',
      'A row of --from has email, first_name, last_name, password and, if you like, roles (names or ids) and attributes.',
    ],
    run: overApi(createUser),
  },
  invite: {
    summary: 'Invite a user by mail, who chooses the password.',
    options: [
      ...nameOptions,
      roleOption,
      setOption,
      {
        flags: '--expires-in-hours <hours>',
        help: 'How long the link works, 1 to 720. Default: INVITATION_EXPIRE_HOURS of the service.',
      },
      fromOption,
      retryOption,
      ...changeOptions,
      ...apiOptions,
    ],
    details: [
      'Nobody can sign in to the account before. Without names, the person enters them.',
      'A row of --from has email and, if you like, first_name, last_name, roles (names or ids) and attributes.',
    ],
    run: overApi(inviteUser),
  },
};
