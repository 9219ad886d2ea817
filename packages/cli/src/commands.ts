// All commands by name. Each is declared in a file of commands/, which is loaded when it is named, so that help, usage
// errors and completion are fast.
import type { CommandGroup, Declaration } from './command.ts';

export type Entry = {
  heading: string;
  /** One line for the overview. */
  summary: string;
  load: () => Promise<{ declaration: Declaration | CommandGroup }>;
};

const LOCAL = 'Run and maintain the service on this machine:';

export const commands: Readonly<Record<string, Entry>> = {
  serve: {
    heading: LOCAL,
    summary: 'Run the service, as `npm start` does.',
    load: () => import('./commands/serve.ts'),
  },
  migrate: {
    heading: LOCAL,
    summary: 'Prepare the database: schema, seed, signing key. Then exit.',
    load: () => import('./commands/migrate.ts'),
  },
  'create-superuser': {
    heading: LOCAL,
    summary: 'Create a superuser, or make an existing account a superuser.',
    load: () => import('./commands/create-superuser.ts'),
  },
  'rotate-keys': {
    heading: LOCAL,
    summary: 'Create a new signing key, or revoke a leaked one.',
    load: () => import('./commands/rotate-keys.ts'),
  },
  'reset-keys': {
    heading: LOCAL,
    summary: 'Replace the signing keys after SECRET_KEY was lost. Ends every session.',
    load: () => import('./commands/reset-keys.ts'),
  },
  demo: {
    heading: LOCAL,
    summary: 'Fill the database of a new service with a made-up company, to try it out.',
    load: () => import('./commands/demo.ts'),
  },
  'check-config': {
    heading: LOCAL,
    summary: 'Show every setting with its value, or list every wrong setting.',
    load: () => import('./commands/check-config.ts'),
  },
};
