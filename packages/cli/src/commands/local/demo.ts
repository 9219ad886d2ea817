import { type Declaration, yes } from '../../command.ts';

export const declaration: Declaration = {
  options: [
    { flags: '--users <number>', help: 'Number of people, 1 to 1000000. Default: 120.' },
    { flags: '--seed <text>', help: 'The same text makes the same people. Default: 1.' },
    {
      flags: '--password-file <path>',
      help: 'A file with one password, with which all these people can sign in. Without it, nobody can.',
    },
    yes,
  ],
  details: [
    'Creates people with roles, sessions and sign-ins of the last 30 days, role groups, permissions and service accounts.',
    'Refuses a database with anything but superusers and what the service creates itself. An interrupted run leaves nothing.',
    'To remove the company, delete the database, or start with a new DATA_DIR.',
  ],
  run: async (call) => (await import('../../local/demo.ts')).demo(call),
};
