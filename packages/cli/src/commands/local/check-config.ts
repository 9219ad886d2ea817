import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  details: [
    'Secrets are not shown. The files that settings name are read, such as certificates; no database is opened and nothing is created.',
  ],
  run: async (call) => (await import('../../local/check-config.ts')).checkConfig(call),
};
