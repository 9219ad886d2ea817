// Texts of what opens rarely and late. They load with it, so that no page waits for them.
import { createPlural } from '../../../common/language.ts';
import type { Widened } from '../../../common/messages/type.ts';
import { requirements } from './access/requirements.ts';
import { acting } from './acting.ts';
import { apiResources } from './applications/api-resources.ts';
import { applicationAccess } from './applications/application-access.ts';
import { applications } from './applications/applications.ts';
import { evidence } from './audit/evidence.ts';
import { emailChange } from './email-change.ts';
import { identities } from './identity-providers/identities.ts';
import { identityProviders } from './identity-providers/identity-providers.ts';
import { leaving } from './leaving.ts';
import { personalTokens } from './personal-tokens.ts';
import { secondFactors } from './second-factors.ts';
import { erasure } from './users/erasure.ts';
import { userAttributes } from './users/user-attributes.ts';
import { userBulk } from './users/user-bulk.ts';
import { userImport } from './users/user-import.ts';
import { userInvite } from './users/user-invite.ts';
import { userSecurity } from './users/user-security.ts';
import { webhooks } from './webhooks/webhooks.ts';

const plural = createPlural('en');

export const later = {
  acting,
  apiResources,
  applicationAccess,
  applications,
  emailChange,
  erasure,
  evidence,
  identities,
  identityProviders,
  leaving,
  personalTokens,
  requirements,
  secondFactors,
  userAttributes,
  userBulk,
  userImport,
  userInvite,
  userSecurity,
  webhooks,
  /** What one entry of the audit log holds. */
  entry: {
    changed: 'Changes',
    field: 'Field',
    before: 'Before',
    after: 'After',
    wasAdded: (name: string) => `added: ${name}`,
    wasRemoved: (name: string) => `removed: ${name}`,
    facts: 'Facts',
    raw: 'As JSON',
    gone: 'This entry does not exist, or it is older than the audit log is kept.',
  },
  /** How a service account reads the change feed. */
  feed: {
    title: 'Change feed',
    never: 'This account has not read the change feed.',
    none: 'No stream is open.',
    most: (count: number) =>
      plural(count, { one: 'At most # stream is open.', other: 'At most # streams are open.' }),
    many: (count: string) => `${count} streams or more may be open.`,
    why: (minutes: string) =>
      `So many were opened in the last ${minutes} minutes, on all instances. No stream lasts longer.`,
    last: 'Last opened at',
  },
  /** The dialog with saved filters of the audit log. */
  savedFilters: {
    none: 'No saved filters yet.',
    setFirst: 'Set a filter on the page to save it here.',
    name: 'Save the current filters as',
    taken: 'This name is in use. Choose another one.',
    remove: (name: string) => `Remove ${name}`,
  },
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
