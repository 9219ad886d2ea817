import { type Declaration, yes } from '../../command.ts';

export const declaration: Declaration = {
  usage: '--email <address>',
  options: [{ flags: '--email <address>', help: 'The email of the account.' }, yes],
  details: [
    'Prints a recovery link, which works only together with the password. The owner gets a mail without the link.',
    'Over the API, administrators use `castellan user reset-second-factor`.',
  ],
  run: async (call) => (await import('../../local/reset-second-factor.ts')).resetSecondFactor(call),
};
