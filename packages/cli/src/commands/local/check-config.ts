import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  details: ['Secrets are not shown. Nothing is opened or created.'],
  run: async (call) => (await import('../../local/check-config.ts')).checkConfig(call),
};
