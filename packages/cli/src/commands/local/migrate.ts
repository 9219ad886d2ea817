import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  details: ['Safe to repeat, and while the service runs. Each start of the service does the same.'],
  run: async (call) => (await import('../../local/migrate.ts')).migrate(call),
};
