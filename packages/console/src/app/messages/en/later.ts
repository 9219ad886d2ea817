// Texts of what opens rarely and late. They load with it, so that no page waits for them.
import type { Widened } from '../../../common/messages/type.ts';
import { userImport } from './user-import.ts';

export const later = {
  userImport,
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
