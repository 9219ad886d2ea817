// Imports role groups and roles, each record in a separate transaction: a wrong row stops no other.
// It must not change a record that exists.
import { brokenConstraint } from '../../platform/db/failures.ts';
import { inTransaction, rehearse } from '../../platform/db/transaction.ts';
import { requireMove } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { cleanDescription, cleanNewName } from '../../platform/security/record-text.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { type ChangeLog, recordChange } from '../audit/service.ts';
import { type ExportedGroup, type ExportedRole, exportedGroup, exportedRole } from './export-store.ts';
import { MAX_NAME_LENGTH, RowReader } from './fields.ts';
import { ensurePermissions } from './permission-import.ts';
import {
  findRelatives,
  insertRole,
  insertRoleGroup,
  isIdTaken,
  lockByName,
  lockRoleGroupTree,
} from './record-store.ts';
import { type Fault, refused, type SourceRow, type Verdict } from './verdict.ts';

export type RecordImportDeps = { db: Db; auditLog: ChangeLog };

export type RecordImportOptions = {
  /** Writes nothing, and tells what an import would say. */
  dryRun: boolean;
  /** Creates the permissions that do not exist, and their groups. For roles. */
  createPermissions: boolean;
  /** Accepts the permissions to administer the service. For roles. */
  privileged: boolean;
};

// A tree of this size is read at once, in an order in which no parent is missing.
const MAX_RECORDS = 100_000;

type Kind = 'groups' | 'roles';
const fieldsOf: Readonly<Record<Kind, readonly string[]>> = {
  groups: [...Object.keys(exportedGroup), 'parent'],
  roles: [...Object.keys(exportedRole), 'group', 'groups', 'permissions'],
};
const tableOf = { groups: 'role_groups', roles: 'roles' } as const;

/** Runs the work of one row in its transaction. */
type Within = (work: (tx: Tx) => Promise<Verdict>) => Promise<Verdict>;

/** The fields of both kinds; a row without one of them has its default. An export names the system roles, which every service has. */
type ReadRecord = Omit<ExportedRole & ExportedGroup, 'id' | 'parent' | 'group' | 'is_system'> & {
  row: number;
  id: string | undefined;
  parent: string | undefined;
  group: string | undefined;
};

/** With the id that it gets. */
type NewRecord = ReadRecord & { id: string };

/** Imports role groups or roles. Returns a verdict for each row, in their order. Parents may follow their children. */
export async function importRecords(
  deps: RecordImportDeps,
  kind: Kind,
  rows: AsyncIterable<SourceRow>,
  options: RecordImportOptions,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const records: ReadRecord[] = [];
  for await (const one of rows) {
    const read = 'fault' in one ? { errors: [one.fault] } : readRecord(one.row, one.value, kind);
    if ('errors' in read)
      verdicts.push(refused(one.row, 'value' in one ? one.value.name : null, read.errors));
    else records.push(read);
    if (records.length > MAX_RECORDS)
      throw new Error(`There are more than ${MAX_RECORDS} ${kind}. Nothing was changed. Split the file.`);
  }
  const importAll = async (within: Within): Promise<Verdict[]> => {
    const made: Verdict[] = [];
    for (const record of kind === 'groups' ? parentsFirst(records) : records)
      made.push(await importOne({ auditLog: deps.auditLog, options, within }, kind, record));
    return made;
  };
  // A dry run is one transaction that is rolled back, so that later rows see the earlier ones.
  const made = options.dryRun
    ? await rehearse(deps.db, (tx) => importAll((work) => work(tx)))
    : await importAll((work) => inTransaction(deps.db, work));
  return [...verdicts, ...made].sort((one, other) => one.row - other.row);
}

function readRecord(
  row: number,
  value: Record<string, unknown>,
  kind: Kind,
): ReadRecord | { errors: Fault[] } {
  const reader = new RowReader(value, fieldsOf[kind]);
  const name = reader.clean(() => cleanNewName(reader.text('name') ?? '', MAX_NAME_LENGTH));
  const description = reader.clean(() => cleanDescription(reader.text('description') ?? ''));
  const record = {
    row,
    id: reader.id('id'),
    parent: reader.name('parent'),
    group: reader.name('group'),
    groups: reader.list('groups') ?? [],
    permissions: reader.list('permissions') ?? [],
  };
  // Only judged: nobody imports a system role.
  reader.boolean('is_system', false);
  if (reader.faults.length > 0 || name === undefined || description === undefined)
    return { errors: reader.faults };
  return { ...record, name, description };
}

/** Orders groups so that a parent in the file comes before its children. Those of a cycle come last. */
function parentsFirst(records: readonly ReadRecord[]): ReadRecord[] {
  const byParent = Map.groupBy(records, ({ parent }) => parent?.toLowerCase());
  const names = new Set(records.map(({ name }) => name.toLowerCase()));
  const ordered = records.filter(({ parent }) => parent === undefined || !names.has(parent.toLowerCase()));
  const placed = new Set(ordered);
  // The list grows while it is read.
  for (const { name } of ordered)
    for (const child of byParent.get(name.toLowerCase()) ?? [])
      if (!placed.has(child)) {
        placed.add(child);
        ordered.push(child);
      }
  return [...ordered, ...records.filter((record) => !placed.has(record))];
}

async function importOne(
  { auditLog, options, within }: { auditLog: ChangeLog; options: RecordImportOptions; within: Within },
  kind: Kind,
  record: ReadRecord,
): Promise<Verdict> {
  const { row, name } = record;
  const { dryRun } = options;
  const work = async (tx: Tx): Promise<Verdict> => {
    await lockRoleGroupTree(tx);
    const [existing] = await lockByName(tx, tableOf[kind], [name]);
    if (existing) return { row, verdict: 'exists', name, id: dryRun ? null : existing.id };
    const isKept = record.id !== undefined && !(await isIdTaken(tx, tableOf[kind], record.id));
    const id = isKept && record.id !== undefined ? record.id : newId();
    const errors =
      kind === 'groups'
        ? await createGroup(tx, auditLog, { ...record, id })
        : await createRole(tx, auditLog, { ...record, id }, options);
    if (errors.length > 0) throw new RefusedError(errors);
    if (dryRun) return { row, verdict: 'would_create', name };
    const note = record.id === undefined || isKept ? {} : { note: 'another record has the id of the row' };
    return { row, verdict: 'created', name, id, ...note };
  };
  try {
    return await within(work);
  } catch (error) {
    if (error instanceof RefusedError) return refused(row, name, error.errors);
    // Somebody created the record between the check and the insert.
    if (brokenConstraint(error)?.endsWith('_name_key')) return { row, verdict: 'exists', name, id: null };
    throw error;
  }
}

/** Rolls back the record of one row. */
class RefusedError extends Error {
  readonly errors: Fault[];
  constructor(errors: Fault[]) {
    super('refused');
    this.errors = errors;
  }
}

const unknown = (field: string, what: string, name: string): Fault => ({
  field,
  code: `unknown_${what.replaceAll(' ', '_')}`,
  message: `there is no ${what} "${name}"`,
});

async function createGroup(tx: Tx, auditLog: ChangeLog, record: NewRecord): Promise<Fault[]> {
  const { id, name, description, parent } = record;
  const [found] = parent === undefined ? [] : await lockByName(tx, 'role_groups', [parent]);
  if (parent !== undefined && found === undefined) return [unknown('parent', 'role group', parent)];
  try {
    if (found) await requireMove(tx, 'role_groups', null, found.id);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [{ field: 'parent', code: error.code, message: error.message }];
  }
  const parentId = found?.id ?? null;
  await insertRoleGroup(tx, { id, name, description, parent_id: parentId });
  await recordChange(tx, auditLog, null, {
    action: 'role_group_created',
    actorId: null,
    resourceType: 'role_group',
    resourceId: id,
    details: { after: { name, description, parent_id: parentId }, via: 'command_line' },
    resourceName: name,
  });
  return [];
}

async function createRole(
  tx: Tx,
  auditLog: ChangeLog,
  record: NewRecord,
  options: RecordImportOptions,
): Promise<Fault[]> {
  const { id, name, description, group } = record;
  const groupNames = [...new Set([...record.groups, ...(group === undefined ? [] : [group])])];
  const groups = await lockByName(tx, 'role_groups', groupNames);
  const groupIds = new Map(groups.map((one) => [one.name.toLowerCase(), one.id]));
  const errors = groupNames
    .filter((one) => !groupIds.has(one.toLowerCase()))
    .map((one) => unknown('groups', 'role group', one));
  const relatives = await findRelatives(tx, [...groupIds.values()]);
  if (relatives)
    errors.push({
      field: 'groups',
      code: 'circular_dependency',
      message: `"${relatives.ancestor}" is above "${relatives.group}": a role belongs to one of them only`,
    });
  const permissions = await ensurePermissions(tx, auditLog, record.permissions, options);
  if ('errors' in permissions) errors.push(...permissions.errors);
  if (errors.length > 0 || 'errors' in permissions) return errors;
  const roleGroupId = (group === undefined ? undefined : groupIds.get(group.toLowerCase())) ?? null;
  await insertRole(
    tx,
    { id, name, description, role_group_id: roleGroupId },
    [...groupIds.values()],
    permissions.ids,
  );
  await recordChange(tx, auditLog, null, {
    action: 'role_created',
    actorId: null,
    resourceType: 'role',
    resourceId: id,
    details: {
      after: { name, description, role_group_id: roleGroupId, permissions: record.permissions },
      via: 'command_line',
    },
    resourceName: name,
  });
  return [];
}
