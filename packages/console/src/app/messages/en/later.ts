// Texts of what opens rarely and late. They load with it, so that no page waits for them.
import { createPlural } from '../../../common/language.ts';
import type { Widened } from '../../../common/messages/type.ts';
import { requirements } from './access/requirements.ts';
import { apiResources } from './applications/api-resources.ts';
import { applicationAccess } from './applications/application-access.ts';
import { applications } from './applications/applications.ts';
import { emailChange } from './email-change.ts';
import { identities } from './identity-providers/identities.ts';
import { identityProviders } from './identity-providers/identity-providers.ts';
import { leaving } from './leaving.ts';
import { personalTokens } from './personal-tokens.ts';
import { secondFactors } from './second-factors.ts';
import { userBulk } from './users/user-bulk.ts';
import { userImport } from './users/user-import.ts';
import { userInvite } from './users/user-invite.ts';
import { userSecurity } from './users/user-security.ts';

const plural = createPlural('en');

export const later = {
  apiResources,
  applicationAccess,
  applications,
  emailChange,
  identities,
  identityProviders,
  leaving,
  personalTokens,
  requirements,
  secondFactors,
  userBulk,
  userImport,
  userInvite,
  userSecurity,
  /** Ends the sessions of one person on one device. */
  sessionGroup: {
    end: (count: number) => plural(count, { one: 'End # session', other: 'End # sessions' }),
    ask: (count: number, name: string) =>
      plural(count, { one: `End # session: ${name}?`, other: `End # sessions: ${name}?` }),
    onlyListed: 'Only those that are listed end. More may be there: load them first.',
    ended: (count: number) => plural(count, { one: '# session has ended.', other: '# sessions have ended.' }),
  },
  curl: {
    copy: 'Copy as curl',
    text: 'Put an API key or an access token into CASTELLAN_TOKEN. Changes need the token of a service account. Secrets are left out: set the other variables, too.',
  },
  shortcuts: {
    title: 'Keyboard shortcuts',
    onPage: 'On this page',
    everywhere: 'Everywhere',
    /** What bindings do. */
    does: {
      palette: 'Search people, roles, pages and actions',
      search: 'Go to the search box of the page',
      help: 'Show this list',
      close: 'Close the topmost layer',
      rows: 'Move between rows',
      openRow: 'Open the row',
      nextUser: 'Open the next or previous user',
      entries: 'Move between entries',
      openEntry: 'Open the entry',
      groups: 'Move between groups',
      groupEnds: 'Go to the first or last group',
      unfold: 'Unfold or fold the group',
      chooseGroup: 'Choose the group',
      moveGroup: 'Move the group elsewhere',
      findGroup: 'Go to the group whose name begins so',
      cells: 'Move between cells',
      rowEnds: 'Go to the start or end of the row',
      corners: 'Go to the start or end of the matrix',
      flip: 'Change the cell',
      moveProvider: 'Move the provider',
    },
    goTo: (page: string) => `Go to ${page}`,
    single: 'Use single keys',
    singleHelp: 'Turn this off if single keys get in your way.',
    /** Of keys. */
    names: {
      Escape: 'Esc',
      Enter: 'Enter',
      Home: 'Home',
      End: 'End',
      Space: 'Space',
      Alt: 'Alt',
      character: 'letters',
    },
  },
};

export type LaterMessages = Widened<typeof later>;
