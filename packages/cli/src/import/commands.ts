// The commands that import and export records. They load the server only when they run.
import type { Command } from '../command.ts';

const source = {
  from: { type: 'string' },
  type: { type: 'string' },
  report: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
} as const;

const sourceDetails = [
  '--from <file>              NDJSON, CSV with a header or a JSON list, by the ending of the name; - is standard input.',
  '--type <type>              ndjson, csv or json, whatever the name.',
  '--report <file>            A new file for the verdicts, one JSON object for each row. Default: standard output.',
  '--dry-run                  Check every row and write nothing.',
];

const target = { to: { type: 'string' } } as const;
const targetDetails = [
  '--to <file>                A new file, which only you can read; - is standard output.',
];

export const transferCommands: Readonly<Record<string, Command>> = {
  'import users': {
    summary: 'Create users from a file, with the password hashes of the system that they come from.',
    usage: '--from <file> [--format <system> | --map <fields>] [--report <file> [--resume]] [--dry-run]',
    details: [
      'A wrong row is refused with its reasons and stops no other. A user who exists is left alone.',
      ...sourceDetails,
      '--format <system>          The export of keycloak, auth0, firebase, supabase, logto or better-auth.',
      '--credentials <file>       Its second file: the password hashes of Auth0, the hash parameters of Firebase,',
      '                           the table account of better-auth.',
      '--map <field=column,…>     Where the fields are; a.b is the field b of the object a. Other columns are ignored.',
      '--resume                   Continue after an interruption, with the report of that run.',
      '--privileged               Accept superusers and system roles.',
      '--without-passwords        Leave out the hashes. People set a password by mail.',
      'Fields, hashes and formats: docs/operate/import.md.',
    ],
    options: {
      ...source,
      format: { type: 'string' },
      credentials: { type: 'string' },
      map: { type: 'string' },
      resume: { type: 'boolean', default: false },
      privileged: { type: 'boolean', default: false },
      'without-passwords': { type: 'boolean', default: false },
    },
    run: async (call) => (await import('./import-users.ts')).importUsersCommand(call),
  },
  'import roles': {
    summary: 'Create roles from a file, with their role groups and permissions by name.',
    usage: '--from <file> [--create-permissions] [--report <file>] [--dry-run]',
    details: [
      'Import role groups first. A role that exists is left alone.',
      ...sourceDetails,
      '--create-permissions       Create the permissions that do not exist, and their groups.',
    ],
    options: { ...source, 'create-permissions': { type: 'boolean', default: false } },
    run: async (call) => (await import('./import-records.ts')).importRecordsCommand(call, 'roles'),
  },
  'import groups': {
    summary: 'Create role groups from a file, with their parents by name, in any order.',
    usage: '--from <file> [--report <file>] [--dry-run]',
    details: ['A role group that exists is left alone.', ...sourceDetails],
    options: source,
    run: async (call) => (await import('./import-records.ts')).importRecordsCommand(call, 'groups'),
  },
  'export users': {
    summary: 'Write all users to a file that `import users` reads.',
    usage: '--to <file> [--with-password-hashes]',
    details: [
      'All users are of one moment.',
      ...targetDetails,
      '--with-password-hashes     Include the password hashes. Keep the file as secret as the database.',
    ],
    options: { ...target, 'with-password-hashes': { type: 'boolean', default: false } },
    run: async (call) => (await import('./export.ts')).exportCommand(call, 'users'),
  },
  'export roles': {
    summary: 'Write all roles to a file that `import roles` reads.',
    usage: '--to <file>',
    details: targetDetails,
    options: target,
    run: async (call) => (await import('./export.ts')).exportCommand(call, 'roles'),
  },
  'export groups': {
    summary: 'Write all role groups to a file that `import groups` reads.',
    usage: '--to <file>',
    details: targetDetails,
    options: target,
    run: async (call) => (await import('./export.ts')).exportCommand(call, 'groups'),
  },
};
