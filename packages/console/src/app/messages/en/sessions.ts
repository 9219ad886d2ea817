// Texts of the page Sessions and of lists of sessions.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');

export const sessions = {
  title: 'Sessions',
  browserOn: (browser: string, system: string) => `${browser} on ${system}`,
  unknownDevice: 'Unknown device',
  unknownNetwork: 'Unknown network',
  newNetwork: 'New network',
  changedNetwork: 'Network has changed',
  lastNetwork: 'Last used from',
  current: 'This session',
  acting: 'Acting',
  actedBy: (name: string) => `${name} acts as this user`,
  lastUsed: 'Last seen',
  started: 'Started',
  began: (ways: string) => `Signed in with ${ways}`,
  ways: {
    password: 'password',
    device: 'trusted device',
    recovery_link: 'recovery link',
    provider: 'identity provider',
    totp: 'authenticator app',
    recovery_code: 'recovery code',
    passkey: 'passkey or security key',
  },
  end: 'End',
  endOf: (name: string) => `End the session: ${name}`,
  endOne: 'End the session',
  askOne: (device: string) => `End the session: ${device}?`,
  scope: 'What ends',
  scopeOne: 'This session only',
  scopePerson: (name: string) => `All sessions of ${name}`,
  explainOne: 'The device is signed out at once. Mailed links of the user end as well.',
  explainOwn: 'This is the session that you are using now: you will be signed out.',
  ended: 'The session has ended.',
  groupOf: (count: number, isPart: boolean) => (isPart ? `${count}+ sessions` : `${count} sessions`),
  networkNumber: (count: number) => plural(count, { one: '# network', other: '# networks' }),
  logOf: (name: string, address: string) => `Audit log of this user from this address: ${name}, ${address}`,
  endGroup: 'End all',
  endGroupOf: (count: number, name: string) => `End all: ${count} sessions, ${name}`,
  count: (count: number) => plural(count, { one: '# live session', other: '# live sessions' }),
  empty: 'Nobody is signed in.',
  filters: {
    label: 'Filter sessions',
    active: 'Active filters',
    search: 'Name or email',
    address: 'Address or network, such as 203.0.113.0/24',
    olderThan: 'Last seen before',
    user: (name: string) => `User: ${name}`,
  },
  more: 'Load more',
  shownOf: (shown: string, total: string) => `${shown} of ${total}`,
  networks: 'Networks',
  networksOf: (count: number) =>
    plural(count, { one: 'Of the # session shown', other: 'Of the # sessions shown' }),
  networkCount: (count: number) => (count === 1 ? 'session' : 'sessions'),
  endMatching: (count: number) =>
    plural(count, { one: 'End # matching session', other: 'End all # matching sessions' }),
  endAllMatching: 'End all matching sessions',
  tooManyToCount: 'Too many sessions to count those that match. Narrow the filters to end them.',
  askMatching: (count: number) => plural(count, { one: 'End # session?', other: 'End # sessions?' }),
  explainMatching:
    'All sessions that match the filters end at once, your own included. One request ends at most 10,000 sessions of at most 1,000 users, or none.',
  endedMany: (sessions: number, people: number) =>
    `${plural(sessions, { one: '# session', other: '# sessions' })} of ${plural(people, { one: '# user', other: '# users' })} ended.`,
};
