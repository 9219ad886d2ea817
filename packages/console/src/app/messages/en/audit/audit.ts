// Texts of the page Audit log and of the timeline that other pages show of it.

import { createPlural } from '../../../../common/language.ts';
import { auditSentences } from './audit-sentences.ts';

const plural = createPlural('en');

/** What follows the sentence of an entry: the reason of a refusal. Others show as they are. */
const reasons: Readonly<Record<string, string>> = {
  unknown_user: 'unknown email',
  wrong_password: 'wrong password',
  locked: 'account locked',
  unverified: 'email not confirmed',
  inactive: 'account inactive',
  expired: 'expired',
  password_set: 'new password',
  administrator: 'by an administrator',
  revoked: 'by its owner',
  session_limit: 'too many sessions',
  email_taken: 'email taken',
  abuse_limit: 'too many attempts',
  password_rejected: 'password too weak',
  rate_limited: 'too many attempts',
};

export const audit = {
  title: 'Audit log',
  label: 'Audit log',
  sentences: auditSentences,
  reasons,
  /** For an action that this console does not know. */
  unknown: (action: string) => `{actor}: ${action} on {target}`,
  nobody: 'Somebody not signed in',
  commandLine: 'The command line',
  nothing: 'something unnamed',
  refused: 'Refused',
  leftOut: (count: number) => plural(count, { one: '# more like this', other: '# more like this' }),
  details: (sentence: string) => `Details: ${sentence}`,
  action: 'Action',
  actor: 'Actor',
  /** Who acted as the actor. */
  actedBy: 'Acted by',
  actedAs: 'Somebody acted as them',
  target: 'Target',
  type: 'Type',
  time: 'Time',
  address: 'Address',
  only: (value: string) => `Only entries with ${value}`,
  older: 'Load older',
  end: 'No older entries',
  empty: 'Nothing recorded yet',
  emptyHelp: 'What people and services do here appears in this list.',
  routine: {
    hidden: (count: number) =>
      plural(count, { one: '# routine entry hidden', other: '# routine entries hidden' }),
    atLeastHidden: (count: number) =>
      plural(count, { one: 'At least # routine entry hidden', other: 'At least # routine entries hidden' }),
    maybeHidden: 'Routine entries may be hidden',
    shown: 'With routine entries: refreshes of sessions, sign-ins of service accounts',
    show: 'show',
    hide: 'hide',
    showLabel: 'Show routine entries',
    hideLabel: 'Hide routine entries',
    only: 'Nothing but routine',
  },
  /** On each entry. */
  seal: {
    sealed: (number: string) => `Seal ${number}`,
    waiting: 'Not sealed yet',
    inserted: 'Inserted later',
    erased: 'Personal data erased',
  },
  sealedLog: 'Sealed log',
  openLog: 'Open in the audit log',
  openActed: 'What this account did',
  live: 'Live',
  liveOn: 'New entries appear every five seconds. This pauses in a hidden tab and while older entries show.',
  filters: 'Filters',
  active: 'Filters in force',
  anybody: 'Anybody',
  anyAction: 'Any action',
  anyResult: 'Any result',
  anyType: 'Any type',
  success: 'Done',
  failure: 'Refused',
  result: 'Result',
  targetId: 'Target ID',
  from: 'From',
  to: 'To',
  chip: {
    actor: 'Actor',
    acted_by: 'Acted by',
    target: 'Target',
    action: 'Action',
    type: 'Type',
    address: 'Address',
    result: 'Result',
    from: 'From',
    to: 'To',
  },
  removeFilter: (filter: string) => `Remove the filter ${filter}`,
  entry: 'Entry',
  export: {
    label: 'Export',
    csv: 'As CSV',
    ndjson: 'As NDJSON',
    running: (kilobytes: string) => `${kilobytes} KiB so far…`,
    done: (file: string) => `${file} is complete.`,
  },
  saved: { label: 'Saved filters' },
};
