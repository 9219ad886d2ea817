// Texts of what people gave applications: at the application, at a user, and in one's own account.
import { createPlural } from '../../../../common/language.ts';
import { scopeTexts } from '../../../../common/messages/en/scopes.ts';

const plural = createPlural('en');

export const applicationAccess = {
  offline: 'Outlives sign-out',
  since: (day: string) => `Since ${day}`,
  used: (when: string) => `last used ${when}`,
  unused: 'not used yet',
  until: (day: string) => `ends on ${day} at the latest`,
  people: {
    text: 'Who signed in to the application and still has access: one entry for each sign-in.',
    person: 'Person',
    everybody: 'Everybody',
    label: 'People with access',
    empty: 'Nobody has access now',
    emptyText: 'People are listed here once they have signed in to the application.',
    more: 'Show more',
    end: 'End access',
    endAll: 'End all access',
    askOne: (name: string) => `End this access of ${name}?`,
    oneText:
      'What the application got at this sign-in is refused at once. An API that verifies tokens by itself takes them until they expire. The person can sign in again.',
    askAll: (application: string) => `End all access to ${application}?`,
    allText:
      'What the application got from anybody is refused at once. An API that verifies tokens by itself takes them until they expire. People can sign in again.',
    ends: (count: number) => plural(count, { one: 'It ends # sign-in.', other: 'It ends # sign-ins.' }),
    ended: (count: number) =>
      plural(count, {
        one: 'The access of # sign-in has ended.',
        other: 'The access of # sign-ins has ended.',
      }),
  },
  user: {
    text: 'Where this person signed in and an application still has access.',
    none: 'No application has access to this account now.',
    signIns: (count: number) => plural(count, { one: '# sign-in', other: '# sign-ins' }),
    ask: (application: string, name: string) => `End the access of ${application} to the account of ${name}?`,
    askText:
      'What the application got from this person is refused at once. An API that verifies tokens by itself takes them until they expire. The person can sign in again.',
    ended: (application: string) => `${application} no longer has access.`,
  },
  own: {
    title: 'Applications I use',
    text: 'Where you signed in with this account, and what you let them do. Take back what you do not use.',
    empty: 'You have not signed in to an application with this account.',
    label: 'Applications',
    none: 'No access now',
    scopeTexts,
    permissions: 'In your name:',
    agreed: (day: string) => `You agreed on ${day}`,
    policy: 'Privacy policy',
    terms: 'Terms of service',
    end: 'Take back',
    endOf: (application: string) => `Take back the access of ${application}`,
    ask: (application: string) => `Take back the access of ${application}?`,
    askText:
      'It is refused everything at once, for all your browsers, and what you agreed to is forgotten. You can sign in to it again.',
    ended: (application: string) => `${application} no longer has access.`,
  },
};
