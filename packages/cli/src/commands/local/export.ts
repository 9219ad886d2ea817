// `castellan export …`: writes records of the database of the service on this machine to a file.
import type { CommandGroup, Option } from '../../command.ts';

const target: Option = {
  flags: '--to <file>',
  help: 'A new file, which only you can read; - is standard output.',
};

export const declaration: CommandGroup = {
  commands: {
    users: {
      summary: 'Write all users to a file that `import users` reads.',
      usage: '--to <file> [options]',
      options: [
        target,
        {
          flags: '--with-password-hashes',
          help: 'Include the password hashes. Keep the file as secret as the database.',
        },
      ],
      details: ['All users are of one moment.'],
      run: async (call) => (await import('../../import/export.ts')).exportCommand(call, 'users'),
    },
    roles: {
      summary: 'Write all roles to a file that `import roles` reads.',
      usage: '--to <file> [options]',
      options: [target],
      run: async (call) => (await import('../../import/export.ts')).exportCommand(call, 'roles'),
    },
    groups: {
      summary: 'Write all role groups to a file that `import groups` reads.',
      usage: '--to <file> [options]',
      options: [target],
      run: async (call) => (await import('../../import/export.ts')).exportCommand(call, 'groups'),
    },
  },
};
