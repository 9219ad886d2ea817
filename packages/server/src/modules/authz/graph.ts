// The role → permission graph, compiled in memory for one version of it.
// A reader names the version that its own statement saw; a copy of another version is replaced before it answers.
import type { Db } from '../../database.ts';
import { findGraphRows } from './store.ts';

export type RoleNode = {
  id: string;
  name: string;
  description: string;
  is_system: boolean;
  permissions: readonly string[];
};

export type Graph = {
  version: bigint;
  roles: ReadonlyMap<string, RoleNode>;
  /** Every permission there is: a superuser's. Sorted. */
  allPermissions: readonly string[];
};

export type GraphSource = {
  /** The graph at this version or a newer one. */
  at(version: string): Graph | Promise<Graph>;
};

export function createGraphSource(db: Db): GraphSource {
  let graph: Graph | undefined;
  let loading: Promise<Graph> | undefined;

  async function load(): Promise<Graph> {
    graph = compile(await findGraphRows(db));
    return graph;
  }

  async function loadAtLeast(wanted: bigint): Promise<Graph> {
    // A load under way may have begun before the version that is asked for: then one more follows.
    for (;;) {
      loading ??= load().finally(() => {
        loading = undefined;
      });
      const loaded = await loading;
      if (loaded.version >= wanted) return loaded;
    }
  }

  return {
    at(version) {
      const wanted = BigInt(version);
      // A newer one as well: it may be of a database that has since been restored to an earlier state.
      return graph?.version === wanted ? graph : loadAtLeast(wanted);
    },
  };
}

function compile(rows: Awaited<ReturnType<typeof findGraphRows>>): Graph {
  const roles = rows.roles.map(({ permissions, ...role }): [string, RoleNode] => [
    role.id,
    { ...role, permissions: permissions.toSorted() },
  ]);
  return {
    version: BigInt(rows.version),
    roles: new Map(roles),
    allPermissions: rows.permissions.toSorted(),
  };
}
