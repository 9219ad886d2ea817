// Keeps the role → permission graph of this process, and renews it when a request's statement saw another stamp.
// It must not compare the age of stamps: after a restore or a failover, an earlier state may be the current one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from '../../../schema/database.ts';
import {
  emptyGraph,
  type Graph,
  type PermissionTable,
  RoleNode,
  type RoleRow,
  type Touched,
} from './compiled-graph.ts';
import { type Change, findChanges, findPermissions, findRenewal, findRoles } from './store.ts';

export type { Graph, RoleNode } from './compiled-graph.ts';

export type GraphSource = {
  /**
   * Returns a graph at least as new as the caller's statement that read this stamp from `authz_version`. Returns the
   * graph in memory at once if it has the stamp; otherwise waits for at most two reads, which all callers share.
   */
  at(stamp: string): Graph | Promise<Graph>;
  /** Returns the graph in memory, and how often it was read. */
  stats(): GraphStats;
};

type GraphStats = {
  /** Undefined before the first request that needs it. */
  graph: Graph | undefined;
  /** Reads of all roles, of those that changes touched, and reads that failed. */
  renewals: { all: number; changed: number; failed: number };
  /** Seconds spent in reads that did not fail. */
  seconds: number;
};

// A change of the graph between two statements is rare; three in a row take a change every few milliseconds.
const MAX_READS = 3;

/**
 * Returns what `read` found and the graph of the same snapshot. If the graph has changed since, it reads again, because
 * the roles of the earlier snapshot and the permissions of the later one may never have been held together. After three
 * reads the graph may be newer.
 */
export async function withGraph<T extends { stamp: string }>(
  source: GraphSource,
  read: () => Promise<T>,
): Promise<{ found: T; graph: Graph }> {
  for (let reads = 1; ; reads += 1) {
    const found = await read();
    const current = source.at(found.stamp);
    const graph = current instanceof Promise ? await current : current;
    if (graph.stamp === found.stamp || reads === MAX_READS) return { found, graph };
  }
}

export function createGraphSource(db: Db): GraphSource {
  let graph: Graph | undefined;
  let reading: Promise<Graph> | undefined;
  const renewals = { all: 0, changed: 0, failed: 0 };
  let seconds = 0;

  /** Starts a read, or joins the read in progress. */
  function read(): Promise<Graph> {
    const begin = performance.now();
    reading ??= renew(db, graph)
      .then(
        ({ renewed, extent }) => {
          graph = renewed;
          if (extent !== 'none') renewals[extent] += 1;
          seconds += (performance.now() - begin) / 1_000;
          return renewed;
        },
        (error: unknown) => {
          renewals.failed += 1;
          throw error;
        },
      )
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  async function readFor(stamp: string): Promise<Graph> {
    // The read in progress may have begun before the caller's statement, and then its result may be older.
    const earlier = await reading?.catch(() => undefined);
    // The next read begins after that statement, so its snapshot is newer, whatever stamp it finds.
    return earlier?.stamp === stamp ? earlier : read();
  }

  return {
    at: (stamp) => (graph?.stamp === stamp ? graph : readFor(stamp)),
    stats: () => ({ graph, renewals: { ...renewals }, seconds }),
  };
}

type Renewal = { renewed: Graph; extent: 'none' | 'changed' | 'all' };

/** Returns the current graph. Derives it from `known` if the log of changes leads from there to the current stamp. */
const renew = async (db: Db, known: Graph | undefined): Promise<Renewal> =>
  (known && (await renewByLog(db, known))) ?? renewByTables(db, known);

/** Returns undefined if the log does not list every record that has changed. */
async function renewByLog(db: Db, known: Graph): Promise<Renewal | undefined> {
  const found = await findRenewal(db, known.stamp);
  if (known.stamp === found.stamp) return { renewed: known, extent: 'none' };
  const steps = stepsBetween(known.stamp, found.stamp, found.changes);
  if (!steps) return undefined;
  const permissionIds = unionOf(steps.map((step) => step.permission_ids));
  const roleIds = unionOf(steps.map((step) => step.role_ids));
  if (permissionIds === 'all' || roleIds === 'all') return undefined;
  const permissions = known.permissions.next(permissionIds, found.permissions);
  const roles = await compile(found.roles, permissions);
  return { renewed: known.next(found.stamp, permissions, roleIds, roles), extent: 'changed' };
}

const renewByTables = (db: Db, known: Graph | undefined): Promise<Renewal> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const { stamp, changes } = await findChanges(tx, known?.stamp);
      if (known?.stamp === stamp) return { renewed: known, extent: 'none' };
      const steps = known && stepsBetween(known.stamp, stamp, changes);
      const permissionIds = steps ? unionOf(steps.map((step) => step.permission_ids)) : 'all';
      const roleIds = steps ? unionOf(steps.map((step) => step.role_ids)) : 'all';
      const base = known ?? emptyGraph;
      const permissions = base.permissions.next(
        permissionIds,
        await findPermissions(tx, listOf(permissionIds)),
      );
      const roles = await compile(await findRoles(tx, listOf(roleIds)), permissions);
      const renewed = base.next(stamp, permissions, roleIds, roles);
      return { renewed, extent: roleIds === 'all' || permissionIds === 'all' ? 'all' : 'changed' };
    });

// Takes less than a millisecond for roles of 20 permissions, a few milliseconds for roles of 200.
const ROLES_AT_ONCE = 250;

/** Builds the roles in chunks, so that other requests run in between: tens of thousands of roles take about 100 ms. */
async function compile(rows: readonly RoleRow[], permissions: PermissionTable): Promise<RoleNode[]> {
  const nodes: RoleNode[] = [];
  for (const row of rows) {
    nodes.push(RoleNode.of(row, permissions));
    if (nodes.length % ROLES_AT_ONCE === 0) await nextTurn();
  }
  return nodes;
}

/**
 * Returns the changes from one stamp to the other, in order. Returns undefined if the log has deleted some of them, or
 * belongs to another history (restored backup, failover).
 */
function stepsBetween(from: string, to: string, changes: readonly Change[]): Change[] | undefined {
  const after = new Map(changes.map((change) => [change.previous_stamp, change]));
  const steps: Change[] = [];
  for (let at = from; at !== to; ) {
    const step = after.get(at);
    if (!step) return undefined;
    after.delete(at);
    steps.push(step);
    at = step.stamp;
  }
  return steps;
}

function unionOf(lists: readonly (readonly string[] | null)[]): Touched {
  const union = new Set<string>();
  for (const list of lists) {
    if (list === null) return 'all';
    for (const id of list) union.add(id);
  }
  return union;
}

const listOf = (touched: Touched): string[] | 'all' => (touched === 'all' ? touched : [...touched]);
