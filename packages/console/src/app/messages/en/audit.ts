// Texts of the page Audit log and of the timeline that other pages show of it.

import { createPlural } from '../../../shared/language.ts';
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
  changed: 'Changes',
  field: 'Field',
  before: 'Before',
  after: 'After',
  wasAdded: (name: string) => `added: ${name}`,
  wasRemoved: (name: string) => `removed: ${name}`,
  facts: 'Facts',
  action: 'Action',
  actor: 'Actor',
  target: 'Target',
  type: 'Type',
  time: 'Time',
  address: 'Address',
  raw: 'As JSON',
  only: (value: string) => `Only entries with ${value}`,
  older: 'Load older',
  end: 'No older entries',
  empty: 'Nothing recorded yet',
  emptyHelp: 'What people and services do here appears in this list.',
  openAll: 'Open in the audit log',
};
