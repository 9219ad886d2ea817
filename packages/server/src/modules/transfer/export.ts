// Exports users, roles and role groups as NDJSON that an import reads: one snapshot, in pages, so that memory does not grow.
// It must not export a password hash unless asked.
import { inSnapshot, inTransaction } from '../../platform/db/transaction.ts';
import { jsonLine } from '../../platform/logging/json-line.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { type ChangeLog, recordChange } from '../audit/service.ts';
import { type ExportedUser, readRoleGroups, readRoles, readUsers } from './export-store.ts';

/** `db` must not have a statement timeout, nor one of idle transactions: the reader of the output may be slow. */
export type ExportDeps = { db: Db; auditLog: ChangeLog };
export type ExportKind = 'users' | 'roles' | 'groups';
export type ExportOptions = { withPasswordHashes: boolean };
type Write = (text: string) => Promise<void>;

const PAGE = 2_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Writes the records, one JSON object a line, and returns their number. Records the export of users in the audit log. */
export async function exportRecords(
  deps: ExportDeps,
  kind: ExportKind,
  options: ExportOptions,
  write: Write,
): Promise<number> {
  if (kind === 'users') {
    let count = 0;
    const counted = (users: readonly object[]): Promise<void> => {
      count += users.length;
      return write(linesOf(users));
    };
    try {
      await inSnapshot(deps.db, (tx) => exportUsers(tx, options, counted));
    } catch (error) {
      // The reader has what was written before. Whatever fails now, the first error is that of the export.
      if (count > 0) await recordExport(deps, { count, interrupted: true }, options).catch(() => {});
      throw error;
    }
    await recordExport(deps, { count }, options);
    return count;
  }
  const read: (tx: Tx) => Promise<readonly object[]> = kind === 'roles' ? readRoles : readRoleGroups;
  const records = await inSnapshot(deps.db, read);
  if (records.length > 0) await write(linesOf(records));
  return records.length;
}

const linesOf = (records: readonly object[]): string =>
  records.map((record) => `${jsonLine(record)}\n`).join('');

async function exportUsers(
  tx: Tx,
  { withPasswordHashes }: ExportOptions,
  write: (users: readonly object[]) => Promise<void>,
): Promise<void> {
  const shown = ({ password_hash, email, ...user }: ExportedUser) => ({
    ...user,
    email: shownEmail(email),
    ...(withPasswordHashes ? { password_hash } : {}),
  });
  let after = BEFORE_ALL;
  for (;;) {
    const page = await readUsers(tx, after, PAGE);
    const last = page.at(-1);
    if (last === undefined) return;
    await write(page.map(shown));
    after = last.id;
  }
}

const recordExport = (
  { db, auditLog }: ExportDeps,
  written: { count: number; interrupted?: true },
  { withPasswordHashes }: ExportOptions,
): Promise<void> =>
  inTransaction(db, (tx) =>
    recordChange(tx, auditLog, null, {
      action: 'users_exported',
      actorId: null,
      resourceType: 'user',
      details: { ...written, password_hashes: withPasswordHashes, via: 'command_line' },
    }),
  );
