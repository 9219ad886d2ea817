import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  options: [
    {
      flags: '--workers <number>',
      help: 'Number of processes that serve requests, instead of the setting WORKERS.',
    },
  ],
  run: async (call) => (await import('../../local/serve.ts')).serveUntilStopped(call),
};
