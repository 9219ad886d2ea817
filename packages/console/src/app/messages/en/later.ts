// Texts of what opens rarely and late. They load with it, so that no page waits for them.
import { createPlural } from '../../../common/language.ts';
import type { Widened } from '../../../common/messages/type.ts';
import { userImport } from './user-import.ts';

const plural = createPlural('en');

export const later = {
  userImport,
  /** Ends the sessions of one person on one device. */
  sessionGroup: {
    end: (count: number) => plural(count, { one: 'End # session', other: 'End # sessions' }),
    ask: (count: number, name: string) =>
      plural(count, { one: `End # session: ${name}?`, other: `End # sessions: ${name}?` }),
    onlyListed: 'Only those that are listed end. More may be there: load them first.',
    ended: (count: number) => plural(count, { one: '# session has ended.', other: '# sessions have ended.' }),
  },
  shortcuts: {
    title: 'Keyboard shortcuts',
    palette: 'Search people, roles, pages and actions',
    search: 'Go to the search box of the page',
    help: 'Show this list',
    goTo: (page: string) => `Go to ${page}`,
    move: 'Move between rows',
    open: 'Open the row',
    close: 'Close the topmost layer',
    single: 'Use single keys',
    singleHelp: 'Turn this off if single keys get in your way.',
  },
};

export type LaterMessages = Widened<typeof later>;
