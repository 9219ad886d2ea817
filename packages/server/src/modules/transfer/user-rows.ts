// Reads a row of users by the rules of the API: emails, names, roles; and hashes that the service can verify.
// It must not put a password hash in a fault.
import { canonicalEmail } from '../../platform/security/email.ts';
import { readHash } from '../../platform/security/password-hashes/read-hash.ts';
import { cleanExternalId } from '../../platform/security/record-text.ts';
import { cleanNames } from '../users/names.ts';
import type { ExportedUser } from './export-store.ts';
import { RowReader } from './fields.ts';
import { unverifiableKind } from './hash-kinds.ts';
import { isNoPassword, storedSpelling } from './hash-spellings.ts';
import type { Fault } from './verdict.ts';

/** All that an export writes, `name`, a full name, and `invite`, which mails an invitation to somebody without a hash. */
const fields = {
  id: true,
  email: true,
  first_name: true,
  last_name: true,
  name: true,
  password_hash: true,
  is_active: true,
  is_superuser: true,
  verified: true,
  must_change_password: true,
  external_id: true,
  language: true,
  roles: true,
  attributes: true,
  invited_at: true,
  deletion_due_at: true,
  created_at: true,
  updated_at: true,
  invite: true,
} satisfies Record<keyof ExportedUser | 'name' | 'invite', true>;
export const userRowFields: readonly string[] = Object.keys(fields);

export type NewUser = Omit<
  ExportedUser,
  'id' | 'roles' | 'invited_at' | 'deletion_due_at' | 'created_at' | 'updated_at'
> & {
  /** Null: any new id. */
  id: string | null;
  /** Names. Undefined: the default role. */
  roles: string[] | undefined;
  /** Null: now. */
  created_at: string | null;
  updated_at: string | null;
  /** Null: not invited. */
  invited_at: string | null;
  /** Null: the owner has not deleted the account, or it is active. The link that undoes it does not come along. */
  deletion_due_at: string | null;
  /** Whether the import mails the invitation. */
  invite: boolean;
};

export type UserRules = {
  /** Accepts superusers. */
  privileged: boolean;
  /** Leaves out every password hash. */
  withoutPasswords: boolean;
};

const hashFaults = {
  unsupported: 'is of a kind that cannot be verified',
  malformed: 'is cut off or damaged',
  too_costly: 'takes too long to verify',
} as const;

export function readUser(
  value: Record<string, unknown>,
  rules: UserRules,
): { user: NewUser } | { errors: Fault[] } {
  const row = new RowReader(value, userRowFields);
  const email = readEmail(row);
  const password_hash = readPassword(row, rules);
  const invitation = readInvitation(row, password_hash);
  // The acceptance of the invitation verifies the address.
  const verified = row.boolean('verified', true) && !invitation.invite;
  const staysInvited = invitation.invited_at !== null && !invitation.invite && !verified;
  const names = readNames(row, email, { mayLack: staysInvited && password_hash === null });
  const user = {
    id: row.id('id') ?? null,
    ...invitation,
    password_hash,
    is_active: row.boolean('is_active', true),
    is_superuser: row.boolean('is_superuser', false),
    verified,
    must_change_password: row.boolean('must_change_password', false),
    external_id: row.clean(() => cleanExternalId(row.text('external_id') ?? null)) ?? null,
    language: readLanguage(row),
    created_at: row.time('created_at') ?? null,
    updated_at: row.time('updated_at') ?? null,
    deletion_due_at: row.time('deletion_due_at', { isPlanned: true }) ?? null,
    roles: row.list('roles'),
    attributes: row.object('attributes') ?? {},
  };
  if (user.is_superuser && !rules.privileged)
    row.refuse('is_superuser', 'needs_privileged', 'is true: superusers are created with --privileged only');
  if (row.faults.length > 0 || email === undefined || names === undefined) return { errors: row.faults };
  return { user: { ...user, ...names, email } };
}

function readEmail(row: RowReader): string | undefined {
  const text = row.text('email');
  const email = text === undefined ? null : canonicalEmail(text);
  if (email !== null) return email;
  if (row.faults.every(({ field }) => field !== 'email'))
    row.refuse('email', 'invalid_email', 'must be an email address such as ada@example.com');
  return undefined;
}

/**
 * Without a name, people are called as their email begins; those who `mayLack` one enter it when they accept. A full name ends with the
 * last name.
 */
function readNames(row: RowReader, email: string | undefined, { mayLack }: { mayLack: boolean }) {
  const full = row.text('name')?.trim();
  const first = row.text('first_name');
  const last = row.text('last_name');
  const parts =
    first === undefined && last === undefined && full !== undefined ? splitName(full) : { first, last };
  if (mayLack && parts.first === undefined)
    return row.clean(() => ({ first_name: '', last_name: '', ...cleanNames({ last_name: parts.last }) }));
  const firstName = parts.first ?? parts.last ?? email?.slice(0, email.indexOf('@'));
  if (firstName === undefined) return undefined;
  return row.clean(() => cleanNames({ first_name: firstName, last_name: lastOf(parts) }));
}

type Parts = { first: string | undefined; last: string | undefined };

/** The first name is never empty: somebody with a last name only has it as the first name. */
const lastOf = ({ first, last }: Parts): string => (first === undefined ? '' : (last ?? ''));

function splitName(full: string): Parts {
  const at = full.lastIndexOf(' ');
  return at < 0 ? { first: full, last: undefined } : { first: full.slice(0, at), last: full.slice(at + 1) };
}

/**
 * Reads whether the row invites, or was invited before. Somebody with a hash has accepted, whenever they were invited. Without mails, the
 * invitation of an export has ended: its link does not come along.
 */
function readInvitation(row: RowReader, hash: string | null): Pick<NewUser, 'invite' | 'invited_at'> {
  const invite = row.boolean('invite', false);
  const invitedAt = row.time('invited_at') ?? null;
  if (invite && hash !== null)
    row.refuse('invite', 'has_password', 'is true: only people without a password hash are invited');
  return { invite, invited_at: invite ? (invitedAt ?? new Date().toISOString()) : invitedAt };
}

function readPassword(row: RowReader, { withoutPasswords }: UserRules): string | null {
  const text = withoutPasswords ? undefined : row.text('password_hash');
  if (text === undefined) return null;
  const stored = storedSpelling(text);
  if (isNoPassword(stored)) return null;
  const kind = unverifiableKind(stored);
  const reading = readHash(stored);
  if (kind !== undefined) row.refuse('password_hash', 'hash_unsupported', kind);
  else if ('verify' in reading) return stored;
  else row.refuse('password_hash', `hash_${reading.fault}`, hashFaults[reading.fault]);
  return null;
}

/** The same form as the CHECK of the column. */
function readLanguage(row: RowReader): string | null {
  const text = row.text('language');
  const [language] = /^[a-z]{2,3}(?=$|[-_])/.exec(text?.toLowerCase() ?? '') ?? [];
  if (text !== undefined && language === undefined)
    row.refuse('language', 'invalid_language', 'must be a language such as en');
  return language ?? null;
}
