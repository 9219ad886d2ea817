// Every command by its name. The server is loaded when one runs, so that help and a mistyped option answer at once.
import type { Command } from './command.ts';

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
    details: ['Safe to repeat, and beside a running service. Each start of the service does the same.'],
    options: {},
    run: async (call) => (await import('./migrate.ts')).migrate(call),
  },
  'create-superuser': {
    summary: 'Make an account that may do everything.',
    usage: '--email <address> --first-name <name> --last-name <name> | --email <address> --promote',
    details: [
      'The password is read from standard input, or asked for when that is a terminal.',
      '--promote   Make the existing account of this address a superuser: active and verified, password as it was.',
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
    summary: 'Make a new key that signs tokens.',
    usage: '[--now]',
    details: [
      'Every instance publishes it within a minute; it signs when no key set cached by other services lacks it.',
      'Earlier keys keep verifying until the last token they signed has expired.',
      '--now   Sign with it at once. Services that cache the key set refuse new tokens until they fetch it again.',
    ],
    options: { now: { type: 'boolean', default: false } },
    run: async (call) => (await import('./rotate-keys.ts')).rotateKeys(call),
  },
  'check-config': {
    summary: 'Show every setting with its value, or everything that is wrong with them.',
    usage: '',
    details: ['Secrets are not shown. Nothing is opened or made.'],
    options: {},
    run: async (call) => (await import('./check-config.ts')).checkConfig(call),
  },
};
