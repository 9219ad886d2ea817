// All commands by name. A command loads the server only when it runs, so that help and usage errors are fast.
import type { Command } from './command.ts';
import { transferCommands } from './import/commands.ts';

export const commands: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'Run the service, as `npm start` does.',
    usage: '',
    details: [],
    options: {},
    run: async () => (await import('./serve.ts')).serveUntilStopped(),
  },
  migrate: {
    summary: 'Prepare the database: schema, seed, signing key. Then exit.',
    usage: '',
    details: ['Safe to repeat, and while the service runs. Each start of the service does the same.'],
    options: {},
    run: async (call) => (await import('./migrate.ts')).migrate(call),
  },
  'create-superuser': {
    summary: 'Create a superuser, or make an existing account a superuser.',
    usage: '--email <address> --first-name <name> --last-name <name> | --email <address> --promote',
    details: [
      'The password is read from standard input; at a terminal, the command asks for it.',
      "--last-name ''   For people with a single name.",
      '--promote   Make the existing account with this email a superuser, active and verified. The password stays the same.',
    ],
    options: {
      email: { type: 'string' },
      'first-name': { type: 'string' },
      'last-name': { type: 'string' },
      promote: { type: 'boolean', default: false },
    },
    run: async (call) => (await import('./create-superuser.ts')).createSuperuserCommand(call),
  },
  'rotate-keys': {
    summary: 'Create a new signing key, or revoke a leaked one.',
    usage: '[--now | --revoke <kid> [--yes]]',
    details: [
      'Every instance publishes the key within seconds. It signs after seven minutes, when every cached key set contains it.',
      'Earlier keys keep verifying until the last token they signed has expired.',
      '--now            Sign with it after five seconds, and drop keys that were to sign later. Services that cache the',
      '                 key set refuse new tokens until they fetch it again.',
      '--revoke <kid>   For a leaked key: refuse every token it signed, at once, and end their sessions. A new key',
      '                 is created only if this one was signing. The kid is in the header of each token and in the key set.',
      '--yes            Do not ask for confirmation.',
    ],
    options: {
      now: { type: 'boolean', default: false },
      revoke: { type: 'string' },
      yes: { type: 'boolean', default: false },
    },
    run: async (call) => (await import('./rotate-keys.ts')).rotateKeys(call),
  },
  'reset-keys': {
    summary: 'Replace the signing keys after SECRET_KEY was lost. Ends every session.',
    usage: '[--yes]',
    details: [
      'The new key is encrypted with the current SECRET_KEY, or with DATA_DIR/secret.key. Start every instance with that value afterwards.',
      '--yes   Do not ask for confirmation.',
    ],
    options: { yes: { type: 'boolean', default: false } },
    run: async (call) => (await import('./reset-keys.ts')).resetKeys(call),
  },
  demo: {
    summary: 'Fill the database of a new service with a made-up company, to try it out.',
    usage: '[--users <number>] [--seed <text>] [--password-file <path>] [--yes]',
    details: [
      'Creates people with roles, sessions and sign-ins of the last 30 days, role groups, permissions and service accounts.',
      'Refuses a database with anything but superusers and what the service creates itself. An interrupted run leaves nothing.',
      'To remove the company, delete the database, or start with a new DATA_DIR.',
      '--users <number>         Number of people, 1 to 1000000. Default: 120.',
      '--seed <text>            The same text makes the same people. Default: 1.',
      '--password-file <path>   A file with one password, with which all these people can sign in. Without it, nobody can.',
      '--yes                    Do not ask for confirmation.',
    ],
    options: {
      users: { type: 'string' },
      seed: { type: 'string' },
      'password-file': { type: 'string' },
      yes: { type: 'boolean', default: false },
    },
    run: async (call) => (await import('./demo.ts')).demo(call),
  },
  ...transferCommands,
  'check-config': {
    summary: 'Show every setting with its value, or list every wrong setting.',
    usage: '',
    details: ['Secrets are not shown. Nothing is opened or created.'],
    options: {},
    run: async (call) => (await import('./check-config.ts')).checkConfig(call),
  },
};
