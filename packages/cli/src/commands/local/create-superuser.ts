import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  usage: '--email <address> --first-name <name> --last-name <name> | --email <address> --promote',
  options: [
    { flags: '--email <address>', help: 'The email to sign in with.' },
    { flags: '--first-name <name>', help: 'The first name.' },
    { flags: '--last-name <name>', help: "The last name; '' for people with a single name." },
    {
      flags: '--promote',
      help: 'Make the existing account with this email a superuser, active and verified. The password stays the same.',
    },
  ],
  details: ['The password is read from standard input; at a terminal, the command asks for it.'],
  run: async (call) => (await import('../../local/create-superuser.ts')).createSuperuserCommand(call),
};
