// What the catalogue says about an audit action. It must not name one.
import type { Members } from './members.ts';

/** The types of records that entries are about. `security_event`: an account, or nobody. */
export const resourceTypes = [
  'security_event',
  'user',
  'user_attribute',
  'webhook',
  'role',
  'role_group',
  'permission',
  'permission_group',
  'service_account',
  'application',
  'api_resource',
  'identity_provider',
  'access',
  'audit_log',
  'signing_key',
  'database',
] as const;
export type ResourceType = (typeof resourceTypes)[number];

export type AuditActionEntry = {
  /** What happened, for the documentation. */
  text: string;
  /** Which types of records its entries can be about. Default: `security_event`. */
  about?: readonly ResourceType[];
  /** Found by `result=failure`; every other action is a success. */
  failure?: true;
  /**
   * One user, one email or one network can cause it at will. Of each such action, 60 entries a minute are written. The
   * others are counted, and reported within a minute by an entry whose `details.more_left_out` is their number.
   */
  bounded?: true;
  /**
   * Happens by itself, and often: left out by `routine=exclude`. After adding one here, put it into the predicates of
   * audit_logs_notable_*_idx too (a migration), or they hold entries that nobody reads there.
   */
  routine?: true;
  /** Written after the commit of its change: what the specification requires of passwords, and what follows from them. */
  afterCommit?: true;
  /**
   * Of the meaning of `details`. Default: 1. A member that is added leaves it. Another meaning of a member is a new version: both are
   * sent for one major release.
   */
  version?: number;
  /**
   * The members of `details`, besides those of every entry, and which of them are personal data. Of a `bounded` action, each of them may
   * be absent. Entries of tests are compared with it: packages/testing/src/records/audit-schemas.ts.
   */
  details: Members;
};
