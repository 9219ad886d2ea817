// Exports users, roles and role groups as NDJSON that an import reads: one snapshot, in pages, so that memory does not grow.
// It must not export a password hash unless asked.
import { inSnapshot, inTransaction } from '../../platform/db/transaction.ts';
import type { Logger } from '../../platform/log.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { recordChange } from '../audit/service.ts';
import { type ExportedUser, readRoleGroups, readRoles, readUsers } from './export-store.ts';

/** `db` must not have a statement timeout, nor one of idle transactions: the reader of the output may be slow. */
export type ExportDeps = { db: Db; log: Logger };
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
    const count = await inSnapshot(deps.db, (tx) => exportUsers(tx, options, write));
    await recordExport(deps, count, options);
    return count;
  }
  const read: (tx: Tx) => Promise<readonly object[]> = kind === 'roles' ? readRoles : readRoleGroups;
  const records = await inSnapshot(deps.db, read);
  if (records.length > 0) await write(linesOf(records));
  return records.length;
}

const linesOf = (records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

async function exportUsers(tx: Tx, { withPasswordHashes }: ExportOptions, write: Write): Promise<number> {
  const shown = ({ password_hash, ...user }: ExportedUser) =>
    withPasswordHashes ? { ...user, password_hash } : user;
  let count = 0;
  let after = BEFORE_ALL;
  for (;;) {
    const page = await readUsers(tx, after, PAGE);
    const last = page.at(-1);
    if (last === undefined) return count;
    await write(linesOf(page.map(shown)));
    count += page.length;
    after = last.id;
  }
}

const recordExport = (
  { db, log }: ExportDeps,
  count: number,
  { withPasswordHashes }: ExportOptions,
): Promise<void> =>
  inTransaction(db, (tx) =>
    recordChange(tx, log, null, {
      action: 'users_exported',
      actorId: null,
      resourceType: 'user',
      details: { count, password_hashes: withPasswordHashes, via: 'command_line' },
    }),
  );
