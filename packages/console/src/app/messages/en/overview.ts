// Texts of the page Overview.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');
const choose = (one: string, other: string) => (count: number) => plural(count, { one, other });

export const overview = {
  title: 'Overview',
  own: {
    title: 'Your account',
    text: 'See your profile, your sessions, and what you may do and why.',
  },
  counters: {
    label: 'Numbers',
    users: 'Users',
    active: 'Active users',
    roles: 'Roles',
    permissions: 'Permissions',
    sessions: 'Live sessions',
  },
  attention: {
    title: 'Needs attention',
    none: 'Nothing needs attention.',
    items: {
      locked_users: choose('locked account', 'locked accounts'),
      unverified_users_near_removal: choose(
        'unverified account, removed within a day',
        'unverified accounts, removed within a day',
      ),
      invitations_ended: choose('invitation that ended unanswered', 'invitations that ended unanswered'),
      users_without_roles: choose('user without a role', 'users without a role'),
      users_without_required_factor: choose(
        'user without a required second factor',
        'users without a required second factor',
      ),
      permissions_without_roles: choose(
        'permission of your product that only Admin has',
        'permissions of your product that only Admin has',
      ),
      roles_without_holders: choose('role that nobody has', 'roles that nobody has'),
      roles_without_permissions: choose('role without permissions', 'roles without permissions'),
    },
  },
  trend: {
    title: 'Sign-ins of the last 30 days',
    signInsLabel: 'Sign-ins',
    refusalsLabel: 'Refused',
    todayLabel: 'Today, so far',
    dayLabel: 'Day (UTC)',
    soFar: (day: string) => `${day}, so far`,
    signIns: choose('# sign-in', '# sign-ins'),
    refusals: choose('# refused', '# refused'),
    day: (day: string, signIns: string, refusals: string) => `${day}: ${signIns}, ${refusals}`,
    chooseDay: 'Day',
    table: 'As a table',
    openRefusals: 'Refusals in the audit log',
  },
  recent: {
    title: 'Recent sign-ins',
    none: 'Nobody has signed in yet.',
  },
  networks: {
    title: 'Sessions by network',
    sessions: choose('# session', '# sessions'),
    none: 'No live session has an address.',
    newest: (shown: number, total: number) =>
      plural(total, { other: `Of the newest ${shown} of # sessions` }),
  },
  groups: {
    title: 'Role groups',
    open: 'All role groups',
    none: 'No role groups yet.',
    roles: choose('# role', '# roles'),
    below: choose('# group below', '# groups below'),
  },
  checklist: {
    title: 'First steps',
    progress: (done: number, steps: number) => `${done} of ${steps} done`,
    dismiss: 'Dismiss the first steps',
    done: '(done)',
    open: '(to do)',
    steps: {
      password: { title: 'Change your first password', text: 'The one from the installation may be known.' },
      permissions: { title: 'Create permissions', text: 'Name what your product lets people do.' },
      role: { title: 'Create a role', text: 'Bundle permissions for a job.' },
      people: { title: 'Invite a colleague', text: 'A second administrator prevents a lock-out.' },
    },
  },
};
