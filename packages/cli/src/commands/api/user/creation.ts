// `castellan user create` and `invite`: one user, or one for each row of NDJSON.
import { change, changeOptions, idempotency, isDryRun, report, retryOption } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { roleIds } from '../../../api/names.ts';
import { eachRow, fromOption, openRows, type Row, textIn, textsIn } from '../../../api/rows.ts';
import { sendPasswordLink, unknownPassword } from '../../../api/users.ts';
import { type Command, Failure, listOf, type Option, optionOf, UsageError } from '../../../command.ts';
import { readPassword } from '../../../input/password-input.ts';
import { nameOptions } from './arguments.ts';

const roleOption: Option = { flags: '--role <role>', help: 'A role, by name or id. Repeatable.', list: true };

/** The fields of a new user, besides the password. */
const namesOf = (row: Row) => ({
  email: textIn(row, 'email'),
  first_name: textIn(row, 'first_name'),
  last_name: textIn(row, 'last_name'),
});

function rowOfOptions({ call }: Api): Row {
  const names = {
    email: optionOf(call, 'email'),
    first_name: optionOf(call, 'first-name'),
    last_name: optionOf(call, 'last-name'),
  };
  for (const [name, value] of Object.entries(names))
    if (value === undefined) throw new UsageError(`--${name.replace('_', '-')} is missing.`);
  return { ...names, roles: listOf(call, 'role') };
}

/** Creates a user. Returns null for a dry run. */
async function create(api: Api, row: Row, password: string, more: { must_change_password?: boolean } = {}) {
  const role_id = await roleIds(api, textsIn(row, 'roles'));
  return change(api, 'POST /api/v1/users', {
    body: { ...namesOf(row), password, role_id, ...more },
    ...idempotency(api.call),
  });
}

const fromRows = (api: Api, from: string, work: (row: Row) => Promise<{ message: string; id?: string }>) => {
  for (const name of ['email', 'first-name', 'last-name', 'role', 'idempotency-key'])
    if (api.call.values[name] !== undefined)
      throw new UsageError(`--from has it for each row: leave out --${name}.`);
  return eachRow(api.call, openRows(from), work);
};

async function createUser(api: Api): Promise<void> {
  const from = optionOf(api.call, 'from');
  const must_change_password = api.call.values['must-change-password'] === true;
  if (from === undefined) {
    const row = rowOfOptions(api);
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
  const { answer, message } = await invite(api, rowOfOptions(api));
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
