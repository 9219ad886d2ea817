// The role → permission graph in memory: built from rows once, then derived from the previous graph and the changes.
// It has no side effects, and a graph is immutable: a request keeps its graph while the next one is built.
import { administrativePermissions } from '@castellan/contract/permissions';
import type { Row } from '../../../schema/database.ts';
import { type Need, needIn, type RoleNeed, roleNeedIn } from './needs.ts';

export type PermissionRow = Pick<Row<'permissions'>, 'id' | 'name' | 'required_acr' | 'max_auth_age'> & {
  /** As PostgreSQL's `lower` writes it, by which names are unique. */
  lower_name: string;
};
export type RoleRow = Pick<Row<'roles'>, 'id' | 'name' | 'description' | 'is_system' | 'required_acr'> & {
  /** Comma-separated ids; null if the role has no permissions. */
  permission_ids: string | null;
  /** In milliseconds since 1970; null: at once. */
  enforced_from_ms: number | null;
};

/** Ids of the records that were added, changed or removed; `all` if they are not known. */
export type Touched = ReadonlySet<string> | 'all';

const fold = (name: string): string => name.normalize('NFC').toLowerCase();

/** Every permission by id and by name. Roles hold ids, so that a rename touches no role. */
export class PermissionTable {
  readonly #byId: ReadonlyMap<string, PermissionRow>;
  readonly #idsByName: ReadonlyMap<string, string>;
  readonly #needs: ReadonlyMap<string, Need>;
  #sorted: readonly string[] | undefined;
  #administrative: readonly string[] | undefined;

  constructor(byId: ReadonlyMap<string, PermissionRow>) {
    this.#byId = byId;
    // Exact names come last, so that they win over the lower-case spelling of another name.
    const rows = [...byId.values()];
    this.#needs = new Map(
      rows.flatMap((row) => {
        const need = needIn(row);
        return need ? [[row.id, need]] : [];
      }),
    );
    this.#idsByName = new Map([
      ...rows.map(({ id, lower_name }) => [lower_name, id] as const),
      ...rows.map(({ id, name }) => [name, id] as const),
    ]);
  }

  /** Returns the id of a permission; its name is compared ignoring case. */
  idOf(name: string): string | undefined {
    return this.#idsByName.get(name) ?? this.#idsByName.get(fold(name));
  }

  /** Returns the name as it is stored. */
  nameOf(id: string): string | undefined {
    return this.#byId.get(id)?.name;
  }

  /** Returns what a call that uses the permission must have proved; undefined for nothing. */
  needOf(id: string): Need | undefined {
    return this.#needs.get(id);
  }

  /** Whether any permission asks for a proof. */
  get hasNeeds(): boolean {
    return this.#needs.size > 0;
  }

  /** Ids of the permissions to administer the service. Computed on first use. */
  get administrativeIds(): readonly string[] {
    this.#administrative ??= administrativePermissions.flatMap((name) => this.idOf(name) ?? []);
    return this.#administrative;
  }

  /** Ids of all permissions. */
  get ids(): Iterable<string> {
    return this.#byId.keys();
  }

  /** Returns the ids as strings that all roles share, which saves memory. Leaves out unknown permissions. */
  intern(ids: readonly string[]): string[] {
    return ids.map((id) => this.#byId.get(id)?.id).filter((id) => id !== undefined);
  }

  /** Returns the names of these ids, sorted. */
  namesOf(ids: Iterable<string>): string[] {
    return Array.from(ids, (id) => this.#byId.get(id)?.name)
      .filter((name) => name !== undefined)
      .sort();
  }

  /** Every name, sorted. Computed on first use. */
  get sorted(): readonly string[] {
    this.#sorted ??= this.namesOf(this.#byId.keys());
    return this.#sorted;
  }

  /**
   * Returns the actions on a type of resources: what follows `<type>.` in the names of permissions. The type is compared
   * ignoring case and may contain dots itself.
   */
  actionsOn(type: string): string[] {
    const folded = fold(type);
    const parts = type.split('.').length;
    return [...this.#byId.values()].flatMap(({ name }) => {
      const all = name.split('.');
      return fold(all.slice(0, parts).join('.')) === folded && all.length > parts
        ? [all.slice(parts).join('.')]
        : [];
    });
  }

  /** Returns the table after a change. `rows` are the touched permissions that still exist. */
  next(touched: Touched, rows: readonly PermissionRow[]): PermissionTable {
    if (touched !== 'all' && touched.size === 0) return this;
    return new PermissionTable(replace(this.#byId, touched, rows));
  }
}

export class RoleNode {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly is_system: boolean;
  /** How its holders must have signed in; null for no matter how. */
  readonly need: RoleNeed | null;
  readonly #table: PermissionTable;
  readonly #held: ReadonlySet<string>;
  #permissions: readonly string[] | undefined;
  #isAdministrative: boolean | undefined;

  constructor(
    role: Pick<RoleNode, 'id' | 'name' | 'description' | 'is_system' | 'need'>,
    table: PermissionTable,
    held: ReadonlySet<string>,
  ) {
    this.id = role.id;
    this.name = role.name;
    this.description = role.description;
    this.is_system = role.is_system;
    this.need = role.need;
    this.#table = table;
    this.#held = held;
  }

  /** Returns whether the role has the permission with this id. */
  holdsId(id: string): boolean {
    return this.#held.has(id);
  }

  /** Ids of the role's permissions. */
  get permissionIds(): ReadonlySet<string> {
    return this.#held;
  }

  /** Names of the role's permissions, sorted. Computed on first use. */
  get permissions(): readonly string[] {
    this.#permissions ??= this.#table.namesOf(this.#held);
    return this.#permissions;
  }

  /** Whether the role has a permission to administer the service. Computed on first use. */
  get isAdministrative(): boolean {
    this.#isAdministrative ??= this.#table.administrativeIds.some((id) => this.#held.has(id));
    return this.#isAdministrative;
  }

  static of({ permission_ids, ...row }: RoleRow, table: PermissionTable): RoleNode {
    const role = { ...row, need: roleNeedIn(row) };
    return new RoleNode(role, table, new Set(table.intern(permission_ids?.split(',') ?? [])));
  }

  /** Returns the same role with the names of another table. */
  on(table: PermissionTable): RoleNode {
    return new RoleNode(this, table, this.#held);
  }
}

// Copying so many entries takes some 50 µs; copying 10,000 takes a millisecond or two, of every request that waits.
const MAX_RECENT = 256;

const hasNeed = (role: RoleNode | undefined): number => Number((role?.need ?? null) !== null);
function countWithNeed(roles: ReadonlyMap<string, RoleNode>): number {
  let count = 0;
  for (const role of roles.values()) count += hasNeed(role);
  return count;
}

/** Roles by id. A change copies only what changed lately, not all roles. */
class RoleMap {
  readonly size: number;
  /** How many roles ask how their holders signed in. */
  readonly withNeed: number;
  readonly #settled: ReadonlyMap<string, RoleNode>;
  /** What differs from `#settled`. Undefined: removed. */
  readonly #recent: ReadonlyMap<string, RoleNode | undefined>;
  readonly #settledWithNeed: number;

  constructor(
    settled: ReadonlyMap<string, RoleNode>,
    recent: ReadonlyMap<string, RoleNode | undefined> = new Map(),
    settledWithNeed = countWithNeed(settled),
  ) {
    this.#settled = settled;
    this.#recent = recent;
    this.#settledWithNeed = settledWithNeed;
    let size = settled.size;
    let withNeed = settledWithNeed;
    for (const [id, role] of recent) {
      size += Number(role !== undefined) - Number(settled.has(id));
      withNeed += hasNeed(role) - hasNeed(settled.get(id));
    }
    this.size = size;
    this.withNeed = withNeed;
  }

  get(id: string): RoleNode | undefined {
    return this.#recent.get(id) ?? (this.#recent.has(id) ? undefined : this.#settled.get(id));
  }

  *values(): Generator<RoleNode> {
    for (const [id, role] of this.#settled) if (!this.#recent.has(id)) yield role;
    for (const role of this.#recent.values()) if (role) yield role;
  }

  /** Returns the map after a change. `present` are the touched roles that still exist. */
  next(touched: Touched, present: readonly RoleNode[]): RoleMap {
    if (touched === 'all') return new RoleMap(byId(present));
    const recent = new Map(this.#recent);
    for (const id of touched) recent.set(id, undefined);
    for (const role of present) recent.set(role.id, role);
    const next = new RoleMap(this.#settled, recent, this.#settledWithNeed);
    return recent.size > MAX_RECENT ? new RoleMap(byId(next.values())) : next;
  }

  /** Returns the same roles with the names of another table. */
  on(table: PermissionTable): RoleMap {
    return new RoleMap(byId(Array.from(this.values(), (role) => role.on(table))));
  }
}

export class Graph {
  /** Identifies this state of the graph uniquely. */
  readonly stamp: string;
  readonly roles: RoleMap;
  readonly permissions: PermissionTable;

  constructor(stamp: string, roles: RoleMap, permissions: PermissionTable) {
    this.stamp = stamp;
    this.roles = roles;
    this.permissions = permissions;
  }

  /** Whether any role or permission asks for a proof. If not, nobody's proof is compared with anything. */
  get hasRequirements(): boolean {
    return this.roles.withNeed > 0 || this.permissions.hasNeeds;
  }

  /** Names of all permissions, which are those of a superuser. Sorted. */
  get allPermissions(): readonly string[] {
    return this.permissions.sorted;
  }

  /**
   * Returns the graph of a later stamp. It shares everything that was not touched with this one. `nodes` are the
   * touched roles that still exist, built on `permissions`.
   */
  next(stamp: string, permissions: PermissionTable, touched: Touched, nodes: readonly RoleNode[]): Graph {
    const isRenamed = permissions !== this.permissions && touched !== 'all';
    const kept = isRenamed ? this.roles.on(permissions) : this.roles;
    return new Graph(stamp, kept.next(touched, nodes), permissions);
  }
}

const byId = (roles: Iterable<RoleNode>): Map<string, RoleNode> =>
  new Map(Array.from(roles, (role) => [role.id, role]));

function replace<Entry extends { id: string }>(
  entries: ReadonlyMap<string, Entry>,
  touched: Touched,
  present: readonly Entry[],
): Map<string, Entry> {
  const replaced = new Map(touched === 'all' ? [] : entries);
  if (touched !== 'all') for (const id of touched) replaced.delete(id);
  for (const entry of present) replaced.set(entry.id, entry);
  return replaced;
}

/** A graph without roles and permissions, from which the first graph is derived. */
export const emptyGraph = new Graph('', new RoleMap(new Map()), new PermissionTable(new Map()));
