// Texts of the dialogs that change what roles and permissions ask of sign-ins.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const requirements = {
  roleTitle: (name: string) => `How holders of ${name} must sign in`,
  permissionTitle: (name: string) => `What ${name} requires of sign-ins`,
  roleHelp: {
    none: 'People who have a second factor are asked for it all the same.',
    aal2: 'The code of an app, a passkey or a security key, besides the password. A passkey alone is enough, too.',
    phr: 'Cannot be phished. The code of an app is not enough.',
  },
  permissionHelp: {
    none: 'Everybody who is signed in and holds the permission may use it.',
    aal1: 'Any way of signing in is enough. With an age, people confirm it again once it is older.',
    aal2: 'The code of an app, a passkey or a security key.',
    phr: 'Cannot be phished. The code of an app is not enough.',
  },
  from: 'Counts from',
  fromHelp: 'Until then, holders are told and nothing is refused. A time in the past means at once.',
  saved: (name: string) => `What ${name} requires was saved.`,
  /** What the settings ask for besides. */
  settings: {
    superusers: 'Whatever you choose here, the settings ask superusers for a second factor.',
    administrators: 'Whatever you choose here, the settings ask administrators for a second factor.',
    everyone: 'Whatever you choose here, the settings ask everybody for a second factor.',
  },
  impact: {
    nobody: 'This concerns nobody who is active now.',
    allMeet: (count: number) =>
      plural(count, {
        one: 'It concerns # person, who can meet it.',
        other: 'It concerns # people, and all of them can meet it.',
      }),
    unmet: (without: string, holders: number) =>
      plural(holders, {
        one: 'It concerns # person, who has no such factor.',
        other: `It concerns # people, ${without} of them without such a factor.`,
      }),
    lifted: (count: number) =>
      plural(count, {
        one: 'For # person, this no longer asks for anything.',
        other: 'For # people, this no longer asks for anything.',
      }),
    roleNow: 'From now on they can do nothing else until they have set one up.',
    roleFrom: (moment: string) => `From ${moment}, they can do nothing else until they have set one up.`,
    permission: 'They cannot use the permission until they have set one up.',
  },
  accounts: 'Service accounts and API keys have nothing to prove: they are not asked.',
};
