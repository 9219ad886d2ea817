import { type Declaration, yes } from '../command.ts';

export const declaration: Declaration = {
  usage: '[--now | --revoke <kid> [--yes]]',
  options: [
    {
      flags: '--now',
      help: 'Sign with it after five seconds, and drop keys that were to sign later. Services that cache the key set refuse new tokens until they fetch it again.',
    },
    {
      flags: '--revoke <kid>',
      help: 'For a leaked key: refuse every token it signed, at once, and end their sessions. A new key is created only if this one was signing. The kid is in the header of each token and in the key set.',
    },
    yes,
  ],
  details: [
    'Every instance publishes the key within seconds. It signs after seven minutes, when every cached key set contains it.',
    'Earlier keys keep verifying until the last token they signed has expired.',
  ],
  run: async (call) => (await import('../rotate-keys.ts')).rotateKeys(call),
};
