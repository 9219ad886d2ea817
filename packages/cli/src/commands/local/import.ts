// `castellan import …`: creates records from a file, in the database of the service on this machine.
import type { CommandGroup, Option } from '../../command.ts';

const source: readonly Option[] = [
  {
    flags: '--from <file>',
    help: 'NDJSON, CSV with a header or a JSON list, by the ending of the name; - is standard input.',
  },
  {
    flags: '--type <type>',
    help: 'The type of the file, whatever its name.',
    choices: ['ndjson', 'csv', 'json'],
  },
  {
    flags: '--report <file>',
    help: 'A new file for the verdicts, one JSON object for each row. Default: standard output.',
  },
  { flags: '--dry-run', help: 'Check every row and write nothing.' },
];

export const declaration: CommandGroup = {
  commands: {
    users: {
      summary: 'Create users from a file, with the password hashes of the system that they come from.',
      usage: '--from <file> [options]',
      options: [
        ...source,
        {
          flags: '--format <system>',
          help: 'The system whose export the file is.',
          choices: ['keycloak', 'auth0', 'firebase', 'supabase', 'logto', 'better-auth'],
        },
        {
          flags: '--credentials <file>',
          help: 'Its second file: the password hashes of Auth0, the hash parameters of Firebase, the table account of better-auth.',
        },
        {
          flags: '--map <fields>',
          help: 'Where the fields are: field=column,…; a.b is the field b of the object a. Other columns are ignored.',
        },
        { flags: '--resume', help: 'Continue after an interruption, with the report of that run.' },
        {
          flags: '--privileged',
          help: 'Accept superusers, system roles, and roles with permissions to administer Castellan.',
        },
        { flags: '--without-passwords', help: 'Leave out the hashes. People set a password by mail.' },
      ],
      details: [
        'A wrong row is refused with its reasons and stops no other. A user who exists is left alone.',
        'Fields, hashes and formats: docs/operate/import.md.',
      ],
      run: async (call) => (await import('../../import/import-users.ts')).importUsersCommand(call),
    },
    roles: {
      summary: 'Create roles from a file, with their role groups and permissions by name.',
      usage: '--from <file> [options]',
      options: [
        ...source,
        {
          flags: '--create-permissions',
          help: 'Create the permissions that do not exist, and their groups.',
        },
        { flags: '--privileged', help: 'Accept built-in permissions to administer Castellan.' },
      ],
      details: ['Import role groups first. A role that exists is left alone.'],
      run: async (call) =>
        (await import('../../import/import-records.ts')).importRecordsCommand(call, 'roles'),
    },
    groups: {
      summary: 'Create role groups from a file, with their parents by name, in any order.',
      usage: '--from <file> [options]',
      options: source,
      details: ['A role group that exists is left alone.'],
      run: async (call) =>
        (await import('../../import/import-records.ts')).importRecordsCommand(call, 'groups'),
    },
  },
};
