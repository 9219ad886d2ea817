// Cuts out of package-lock.json what the published package needs at run time, as its npm-shrinkwrap.json.
// It must not query a registry: versions and hashes are those of the lock file, which the tests ran with.

type Needs = {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
};
type Locked = Needs & { link?: boolean; resolved?: string } & Record<string, unknown>;
export type Lock = Readonly<Record<string, Locked>>;

/** Direct dependencies of the package: name → exact version. */
export type Direct = { dependencies: Record<string, string>; optionalDependencies: Record<string, string> };

const sorted = <T>(entries: Iterable<[string, T]>): Record<string, T> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Returns what the package depends on: the dependencies of its workspaces, and the optional ones of the workspaces and of
 * the root, which bring PostgreSQL and Node.
 */
export function directDependencies(lock: Lock, workspaces: readonly string[]): Direct {
  const required = new Map<string, string>();
  const optional = new Map<string, string>();
  for (const path of workspaces)
    for (const [name, version] of Object.entries(lock[path]?.dependencies ?? {}))
      if (!name.startsWith('@castellan/')) required.set(name, version);
  for (const path of ['', ...workspaces])
    for (const [name, version] of Object.entries(lock[path]?.optionalDependencies ?? {}))
      optional.set(name, version);
  return { dependencies: sorted(required), optionalDependencies: sorted(optional) };
}

/** Returns the `packages` of npm-shrinkwrap.json. Throws if the lock file lacks one of them. */
export function shrinkwrap(lock: Lock, root: Record<string, unknown>, direct: Direct): Lock {
  const required = reached(lock, Object.keys(direct.dependencies), (of) => [
    ...Object.keys(of.dependencies ?? {}),
    ...Object.keys(of.peerDependencies ?? {}).filter((name) => !of.peerDependenciesMeta?.[name]?.optional),
  ]);
  const all = reached(
    lock,
    [...Object.keys(direct.dependencies), ...Object.keys(direct.optionalDependencies)],
    (of) => [
      ...Object.keys({ ...of.dependencies, ...of.optionalDependencies }),
      ...Object.keys(of.peerDependencies ?? {}).filter((name) => !of.peerDependenciesMeta?.[name]?.optional),
    ],
  );
  const entries = [...all].map((path): [string, Locked] => {
    const { dev, devOptional, optional, peer, ...entry } = lock[path] ?? {};
    return [path, { ...entry, ...(required.has(path) ? {} : { optional: true }) }];
  });
  return { '': { ...root, ...direct }, ...sorted(entries) };
}

/** Returns the paths in the lock file that are reached from the names, resolved as Node resolves them. */
function reached(lock: Lock, names: readonly string[], needsOf: (entry: Locked) => string[]): Set<string> {
  const found = new Set<string>();
  const waiting = names.map((name) => pathOf(lock, '', name));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const name of needsOf(lock[path] ?? {})) waiting.push(pathOf(lock, path, name));
  }
  return found;
}

function pathOf(lock: Lock, from: string, name: string): string {
  for (let folder = from; folder !== ''; ) {
    const path = `${folder}/node_modules/${name}`;
    if (lock[path]) return path;
    const end = folder.lastIndexOf('/node_modules/');
    folder = end === -1 ? '' : folder.slice(0, end);
  }
  const path = `node_modules/${name}`;
  if (!lock[path]) throw new Error(`package-lock.json has no ${name}, which ${from || 'Castellan'} needs`);
  return path;
}
