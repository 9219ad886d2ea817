// All commands by name. Each is declared in a file of commands/, in a folder for each heading. The file is loaded when the
// command is named, so that help, usage errors and completion are fast.
import type { CommandGroup, Declaration } from './command.ts';

export type Entry = {
  heading: string;
  /** One line for the overview. */
  summary: string;
  load: () => Promise<{ declaration: Declaration | CommandGroup }>;
};

const LOCAL = 'Run and maintain the service on this machine:';

const API = 'Administer a running service over its API:';
const HERE = 'Set up the command line:';

export const commands: Readonly<Record<string, Entry>> = {
  serve: {
    heading: LOCAL,
    summary: 'Run the service.',
    load: () => import('./commands/local/serve.ts'),
  },
  migrate: {
    heading: LOCAL,
    summary: 'Prepare the database: schema, seed, signing key. Then exit.',
    load: () => import('./commands/local/migrate.ts'),
  },
  'create-superuser': {
    heading: LOCAL,
    summary: 'Create a superuser, or make an existing account a superuser.',
    load: () => import('./commands/local/create-superuser.ts'),
  },
  'rotate-keys': {
    heading: LOCAL,
    summary: 'Create a new signing key, or revoke a leaked one.',
    load: () => import('./commands/local/rotate-keys.ts'),
  },
  'reset-keys': {
    heading: LOCAL,
    summary: 'Replace the signing keys after SECRET_KEY was lost. Ends every session.',
    load: () => import('./commands/local/reset-keys.ts'),
  },
  'reset-second-factor': {
    heading: LOCAL,
    summary: 'Remove the second factors of an account, and print a recovery link.',
    load: () => import('./commands/local/reset-second-factor.ts'),
  },
  backup: {
    heading: LOCAL,
    summary: 'Back up the database to a file, while the service runs or not.',
    load: () => import('./commands/local/backup.ts'),
  },
  restore: {
    heading: LOCAL,
    summary: 'Restore a backup into an empty database. Ends every session, unless told otherwise.',
    load: () => import('./commands/local/restore.ts'),
  },
  'verify-backup': {
    heading: LOCAL,
    summary: 'Read a whole backup, check it, and show what is in it.',
    load: () => import('./commands/local/verify-backup.ts'),
  },
  demo: {
    heading: LOCAL,
    summary: 'Fill the database of a new service with a made-up company, to try it out.',
    load: () => import('./commands/local/demo.ts'),
  },
  import: {
    heading: LOCAL,
    summary: 'Create users, roles and role groups from a file, with the password hashes of other systems.',
    load: () => import('./commands/local/import.ts'),
  },
  export: {
    heading: LOCAL,
    summary: 'Write users, roles and role groups to a file that `import` reads.',
    load: () => import('./commands/local/export.ts'),
  },
  'check-config': {
    heading: LOCAL,
    summary: 'Show every setting with its value, or list every wrong setting.',
    load: () => import('./commands/local/check-config.ts'),
  },
  doctor: {
    heading: LOCAL,
    summary: 'Look for what is wrong with settings, database, keys, mail and proxy.',
    load: () => import('./commands/local/doctor.ts'),
  },
  user: {
    heading: API,
    summary: 'List, create, invite, change and delete users, their roles and sessions.',
    load: () => import('./commands/api/user.ts'),
  },
  role: {
    heading: API,
    summary: 'List, create, change and delete roles and their permissions.',
    load: () => import('./commands/api/role.ts'),
  },
  permission: {
    heading: API,
    summary: 'List, create and delete permissions; see who holds one.',
    load: () => import('./commands/api/permission.ts'),
  },
  'role-group': {
    heading: API,
    summary: 'Sort roles into a tree.',
    load: () => import('./commands/api/role-group.ts'),
  },
  'permission-group': {
    heading: API,
    summary: 'Sort permissions into a tree.',
    load: () => import('./commands/api/permission-group.ts'),
  },
  'service-account': {
    heading: API,
    summary: 'List, create, change and delete service accounts.',
    load: () => import('./commands/api/service-account.ts'),
  },
  key: {
    heading: API,
    summary: 'List, create, rotate and revoke API keys of service accounts.',
    load: () => import('./commands/api/credentials/key.ts'),
  },
  application: {
    heading: API,
    summary: 'List, create, change and delete applications, their secrets and who has access.',
    load: () => import('./commands/api/application.ts'),
  },
  'user-attribute': {
    heading: API,
    summary: 'List, declare, change and delete the attributes that users can have.',
    load: () => import('./commands/api/user-attribute.ts'),
  },
  'api-resource': {
    heading: API,
    summary: 'List, create, change and delete APIs that applications get tokens for.',
    load: () => import('./commands/api/api-resource.ts'),
  },
  'identity-provider': {
    heading: API,
    summary: 'List, create, change, test and switch off identity providers.',
    load: () => import('./commands/api/identity-provider.ts'),
  },
  webhook: {
    heading: API,
    summary: 'Manage webhooks, and see and repeat what they were sent.',
    load: () => import('./commands/api/events/webhook.ts'),
  },
  session: {
    heading: API,
    summary: 'List and end live sessions.',
    load: () => import('./commands/api/credentials/session.ts'),
  },
  token: {
    heading: API,
    summary: 'List and end personal access tokens.',
    load: () => import('./commands/api/credentials/token.ts'),
  },
  audit: {
    heading: API,
    summary: 'List, follow, export and verify the audit log; show its heads and keys.',
    load: () => import('./commands/api/events/audit.ts'),
  },
  settings: {
    heading: API,
    summary: 'List the settings in force.',
    load: () => import('./commands/api/settings.ts'),
  },
  requirements: {
    heading: API,
    summary: 'List what settings, roles and permissions ask of sign-ins.',
    load: () => import('./commands/api/requirements.ts'),
  },
  feed: {
    heading: API,
    summary: 'Follow what changes about sessions, tokens, accounts and access.',
    load: () => import('./commands/api/events/feed.ts'),
  },
  can: {
    heading: API,
    summary: 'Tell whether somebody may do something, and why.',
    load: () => import('./commands/api/can.ts'),
  },
  login: {
    heading: HERE,
    summary: 'Store the URL and an API key of a Castellan.',
    load: () => import('./commands/setup/login.ts'),
  },
  profile: {
    heading: HERE,
    summary: 'List, choose and remove what login stored.',
    load: () => import('./commands/setup/profile.ts'),
  },
  completion: {
    heading: HERE,
    summary: 'Print the script that makes bash, zsh or fish complete commands.',
    load: () => import('./commands/setup/completion.ts'),
  },
};
