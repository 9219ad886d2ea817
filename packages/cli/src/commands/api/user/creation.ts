// `castellan user create` and `invite`: one user, or one for each row of NDJSON.
import type { CreateUser } from '@castellan/sdk';
import { change, changeOptions, idempotency, isDryRun, report, retryOption } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { optionName, valuesOf } from '../../../api/fields.ts';
import { roleIds } from '../../../api/names.ts';
import { eachRow, fromOption, openRows, type Row, textIn, textsIn } from '../../../api/rows.ts';
import { sendPasswordLink, unknownPassword } from '../../../api/users.ts';
import { type Command, Failure, given, listOf, type Option, optionOf, UsageError } from '../../../command.ts';
import { readPassword } from '../../../input/password-input.ts';
import { nameFields, nameOptions } from './arguments.ts';

const roleOption: Option = { flags: '--role <role>', help: 'A role, by name or id. Repeatable.', list: true };

/** A new user is active, verified and no superuser. Roles have other names in the API. */
type NotCreated = 'is_active' | 'verified' | 'is_superuser' | 'role_ids' | 'roles';

async function rowOfOptions(api: Api): Promise<Row> {
  const names = await valuesOf(api, nameFields);
  for (const [name, { option }] of Object.entries(nameFields))
    if (names[name] === undefined) throw new UsageError(`--${optionName(option)} is missing.`);
  return { ...names, roles: listOf(api.call, 'role') };
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
  } satisfies Record<Exclude<keyof CreateUser, NotCreated>, unknown>);
  return change(api, 'POST /api/v1/users', { body, ...idempotency(api.call) });
}

const fromRows = (api: Api, from: string, work: (row: Row) => Promise<{ message: string; id?: string }>) => {
  for (const name of [...nameOptions, roleOption, retryOption].map(optionName))
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

async function invite(api: Api, row: Row): Promise<{ message: string; id?: string; answer: unknown }> {
  const answer = await create(api, row, unknownPassword());
  if (!answer) return { message: `${row.email} would be created and mailed`, answer };
  const { id, email } = answer.result.data;
  try {
    await sendPasswordLink(api, email);
  } catch (error) {
    // The account is there, and only the mail is missing.
    throw new Failure(
      1,
      `${email} was created, but not mailed: ${Object(error).message} Mail the link with \`castellan user reset-password ${email}\`.`,
    );
  }
  return { message: `${email} created; a link to set the password is on its way`, id, answer };
}

async function inviteUser(api: Api): Promise<void> {
  const from = optionOf(api.call, 'from');
  if (from !== undefined)
    return fromRows(api, from, async (row) => {
      const { answer: _, ...verdict } = await invite(api, row);
      return verdict;
    });
  const { answer, message } = await invite(api, await rowOfOptions(api));
  if (answer) report(api, answer as never, `${message}.`);
}

export const creation: Readonly<Record<string, Command>> = {
  create: {
    summary: 'Create a verified user with a password.',
    options: [
      ...nameOptions,
      roleOption,
      { flags: '--must-change-password', help: 'The user must choose a password at the first sign-in.' },
      fromOption,
      retryOption,
      ...changeOptions,
      ...apiOptions,
    ],
    details: [
      'The password is read from standard input; at a terminal, the command asks for it.',
      'A row of --from has email, first_name, last_name, password and, if you like, roles (names or ids).',
    ],
    run: overApi(createUser),
  },
  invite: {
    summary: 'Create a user and mail a link to set the password.',
    options: [...nameOptions, roleOption, fromOption, retryOption, ...changeOptions, ...apiOptions],
    details: ['A row of --from has email, first_name, last_name and, if you like, roles (names or ids).'],
    run: overApi(inviteUser),
  },
};
