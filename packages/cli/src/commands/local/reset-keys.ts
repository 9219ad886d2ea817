import { type Declaration, yes } from '../../command.ts';

export const declaration: Declaration = {
  options: [yes],
  details: [
    'The new key is encrypted with the current SECRET_KEY, or with DATA_DIR/secret.key. Start every instance with that value afterwards.',
  ],
  run: async (call) => (await import('../../local/reset-keys.ts')).resetKeys(call),
};
