import { type Declaration, yes } from '../../command.ts';

export const declaration: Declaration = {
  usage: '[--for applications] [--now | --revoke <kid> [--yes]]',
  options: [
    {
      flags: '--for <purpose>',
      help: 'applications: replace the RSA and the P-256 key for applications, instead of the key that signs sessions. They sign a day later.',
      choices: ['applications'],
    },
    {
      flags: '--now',
      help: 'Do not announce the key: sign with it after five seconds, and drop keys that were announced before. Verifiers with a copy of the key set refuse new tokens until they fetch it again.',
    },
    {
      flags: '--revoke <kid>',
      help: 'For a leaked key: refuse every token it signed, at once, and end their sessions. A new key is created only if this one was signing. The kid is in the header of each token and in the key set.',
    },
    yes,
  ],
  details: [
    'Every instance publishes the key within seconds. It signs after KEY_ANNOUNCE_MINUTES (30), when the copies that verifiers keep of the key set contain it.',
    'Earlier keys for applications stay in the key set for 30 days.',
    'Earlier keys stay in the key set until the last token they signed has expired, and at least as long as a key is announced.',
  ],
  run: async (call) => (await import('../../local/rotate-keys.ts')).rotateKeys(call),
};
