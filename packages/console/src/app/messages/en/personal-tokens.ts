// English texts about personal access tokens.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');

export const personalTokens = {
  title: 'Personal access tokens',
  text: 'Programs that have one act as you, at most with what you may do.',
  empty: 'No program acts as you.',
  create: 'New token',
  nameHelp: 'What uses the token, such as "deployment".',
  expires: 'Expires',
  expiresHelp:
    'At that moment the token stops working. At most a year ahead, unless your organisation allows otherwise.',
  narrowing: {
    narrow: 'Permissions',
    narrowAll: 'All that you have now',
    narrowSome: 'Only these',
    narrowNone: 'You have no permission to give.',
  },
  narrowed: (count: number) => plural(count, { one: 'only # permission', other: 'only # permissions' }),
  all: 'everything its owner may do',
  itemOf: (name: string) => `Token ${name}`,
  expired: 'Expired',
  end: 'End',
  endOf: (name: string) => `End ${name}`,
  ask: (name: string) => `End the token ${name}?`,
  askText: 'Programs that have it are refused from now on. This cannot be undone.',
  ended: (name: string) => `The token ${name} has ended.`,
  secret: {
    title: 'Your new token',
    text: 'This is the only time that the token is shown. Store it now, where only the program can read it.',
    lost: 'The token was made, but its response was lost. End it and make another one.',
  },
  ofUser: { text: 'Programs that have one act as this person.', empty: 'No program acts as this person.' },
};
