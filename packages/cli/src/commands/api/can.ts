// `castellan can`: whether somebody may do something, and why.
import { apiOptions, overApi } from '../../api/connection.ts';
import { jsonText, printable } from '../../api/text.ts';
import { argumentOf, type Declaration, Failure, optionOf } from '../../command.ts';

const reasons: Readonly<Record<string, string>> = {
  unknown_subject: 'there is no such subject',
  unknown_permission: 'there is no such permission',
  inactive: 'the account is not active',
  superuser: 'a superuser may do everything',
  granted: 'a role gives it',
  not_granted: 'no role gives it',
  step_up_required: 'a role gives it, for people who prove again who they are',
};

export const declaration: Declaration = {
  arguments: [
    { name: '<subject>', help: 'A user, by email or id; another subject with --type.' },
    { name: '<permission>', help: 'The name of a permission, such as articles.publish.' },
  ],
  options: [
    {
      flags: '--type <type>',
      help: 'What the subject is. Default: user. Service accounts and roles are named by name or id.',
      choices: ['user', 'service_account', 'role'],
    },
    ...apiOptions,
  ],
  details: ['The exit code is 0 if the subject may, 1 if not, and another one if there is no answer.'],
  run: overApi(async (api) => {
    const { call, client } = api;
    const permission = argumentOf(call, 'permission');
    const subject = { type: optionOf(call, 'type') ?? 'user', id: argumentOf(call, 'subject') };
    const body = await client.post('/api/v1/access/explain', { body: { subject, permission } });
    const { decision, reason, sources, notices, nearest } = body.data;
    if (call.values.json === true) call.print(jsonText(body, 2));
    else
      call.print(
        printable(`${decision ? 'yes' : 'no'}: ${reasons[reason] ?? reason}`) +
          [
            ...sources.map(({ role }) => `through the role ${role.name}`),
            ...notices.map((notice) => `but the account is ${notice}`),
            ...nearest.map(
              ({ role, adds }) => `the role ${role.name} would give it, and ${adds.length} more`,
            ),
          ]
            .map((line) => `\n  ${printable(line)}`)
            .join(''),
      );
    // The answer is printed; only the exit code is missing.
    if (!decision) throw new Failure(1, '');
  }),
};
