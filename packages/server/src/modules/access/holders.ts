// Lists and exports who holds a permission or a role. It must not decide what a holder may do: inactive ones are listed.
import { type Holder, type HolderPage, holderTypes } from '@castellan/contract/holders';
import { AppError } from '../../platform/errors.ts';
import type { ExportSource } from '../../platform/http/answers/export.ts';
import { shownEmail } from '../../platform/security/email.ts';
import type { Db } from '../../schema/database.ts';
import {
  countHolders,
  exists,
  findHolders,
  type Held,
  type HolderKey,
  type HolderRow,
} from './holders-store.ts';

type HolderDeps = { db: Db };

/** Returns what is held, by the id from a path, which may be written in any letter case. */
export const heldPermission = (id: string, include: 'superusers' | undefined): Held => ({
  kind: 'permission',
  id: id.toLowerCase(),
  withSuperusers: include === 'superusers',
});

/** See `heldPermission`. */
export const heldRole = (id: string): Held => ({
  kind: 'role',
  id: id.toLowerCase(),
  withSuperusers: false,
});

const notFound = ({ kind }: Held): AppError =>
  new AppError(kind === 'permission' ? 'permission_not_found' : 'role_not_found');

/**
 * Returns one page of holders. Only the first page counts them all; the cursor carries the total to the next ones.
 * Throws `permission_not_found` or `role_not_found`, and `validation_failed` for a cursor of another list.
 */
export async function listHolders(
  { db }: HolderDeps,
  held: Held,
  query: { size: number; cursor?: string },
): Promise<Omit<HolderPage, 'message'>> {
  const after = query.cursor === undefined ? null : readCursor(held, query.cursor);
  const total = after ? ((await exists(db, held)) ? after.total : undefined) : await countHolders(db, held);
  if (total === undefined) throw notFound(held);
  // One holder more than requested shows whether there is a next page.
  const rows = await findHolders(db, held, after, query.size + 1);
  const page = rows.slice(0, query.size);
  const last = page.at(-1);
  return {
    data: page.map(toHolder),
    next_cursor: last && rows.length > query.size ? writeCursor(held, { ...last, total }) : null,
    total,
  };
}

// Rows of one statement of the export. Building their text takes less than a millisecond.
const EXPORT_BATCH = 500;

/** Returns the holders for an export. Its first read throws `permission_not_found` or `role_not_found`. */
export const holdersToExport = ({ db }: HolderDeps, held: Held): ExportSource<HolderRow> => ({
  batch: EXPORT_BATCH,
  read: async (after) => {
    if (!after && !(await exists(db, held))) throw notFound(held);
    return findHolders(db, held, after ?? null, EXPORT_BATCH);
  },
});

/** Returns the record in the API; service accounts have no email. */
export const toHolder = ({ email, ...holder }: HolderRow): Holder => ({
  type: holder.type,
  id: holder.id,
  name: holder.name,
  ...(email === null ? {} : { email: shownEmail(email) }),
  is_active: holder.is_active,
  superuser: holder.superuser,
  roles: holder.roles,
});

/** The columns of an export as CSV. `roles` has the names, separated by a comma and a space. */
export const csvOfHolders = {
  columns: ['type', 'id', 'name', 'email', 'is_active', 'superuser', 'roles'],
  cellsOf: (holder: HolderRow): (string | boolean | null)[] => [
    holder.type,
    holder.id,
    holder.name,
    holder.email === null ? null : shownEmail(holder.email),
    holder.is_active,
    holder.superuser,
    holder.roles.map(({ name }) => name).join(', '),
  ],
};

type Cursor = HolderKey & { total: number };

const CURSOR = /^(\w+)\|([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\|(0|[1-9]\d{0,14})\|/;

/** The cursor names its list, because its total and its position are meaningless in another list. */
const writeCursor = (held: Held, { type, id, total }: Cursor): string => {
  const list = [held.kind, held.id, held.withSuperusers ? 'superusers' : ''].join('|');
  return Buffer.from(`${type}|${id}|${total}|${list}`).toString('base64url');
};

function readCursor(held: Held, cursor: string): Cursor {
  const [, named, id = '', total] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const type = holderTypes.find((one) => one === named);
  const read = type && { type, id, total: Number(total) };
  // Compared after encoding it again, because decoding skips characters that are not base64.
  if (read && writeCursor(held, read) === cursor) return read;
  const message = 'is not a cursor of this list; leave it out to start with the first holder';
  throw new AppError('validation_failed', {
    detail: `query.cursor ${message}.`,
    errors: [{ field: 'query.cursor', code: 'invalid_cursor', message }],
  });
}
