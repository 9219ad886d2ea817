import type { Declaration } from '../command.ts';

export const declaration: Declaration = {
  run: async () => (await import('../serve.ts')).serveUntilStopped(),
};
