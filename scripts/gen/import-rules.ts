// Writes biome.imports.json, the linter's form of scripts/import-rules.ts. With --check it only reports a stale file.
// It must not define rules, except for the layers inside a module: routes, services, stores.
import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { matchesGlob, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  aboveServer,
  contractOfPlatform,
  type Modules,
  modules,
  others,
  platform,
  type Row,
} from '../import-rules.ts';

type Pattern = { group: string[]; message: string };

const source = 'packages/server/src';
const where = 'See scripts/import-rules.ts.';
export const importRulesPath = new URL('../../biome.imports.json', import.meta.url);

const override = (includes: string[], patterns: Pattern[]) => ({
  includes,
  linter: {
    rules: { style: { noRestrictedImports: { level: 'error', options: { patterns } } } },
  },
});

/** For files of the server: in addition to `patterns`, they must not import what is built on the server. */
const serverOverride = (includes: string[], patterns: Pattern[]) =>
  override(includes, [
    ...patterns,
    { group: aboveServer, message: `The server imports no test and nothing that is built on it. ${where}` },
  ]);

/** Returns the files of other modules that a module may import, as `<module>/<file>`. */
function allowed(uses: readonly string[], isRoutes: boolean): string[] {
  return uses.flatMap((used) => {
    const module = modules[used];
    const { face = ['service.ts'], routesSee = face } = module ?? {};
    return used.includes('/') && !module
      ? [used]
      : (isRoutes ? routesSee : face).map((file) => `${used}/${file}`);
  });
}

/**
 * Refuses other modules, as the module of this name would import them. A folder inside a module also imports only those files of
 * its module that the table names.
 */
function otherModules(name: string, files: readonly string[], message: string): Pattern {
  const parent = posix.relative(name, '.');
  // `../*/**` would also match `../../…`, which is outside modules/.
  const others = name.includes('/') ? '../**' : '../*/**';
  return {
    group: [others, `!${parent}/../**`, ...files.map((file) => `!${posix.relative(name, file)}`)],
    message: `${message} ${where}`,
  };
}
const detour: Pattern = {
  group: ['**/modules/**'],
  message: 'Inside modules/, import another module as ../<module>/<file>.',
};

function moduleOverrides(name: string, uses: readonly string[]) {
  const folder = `${source}/modules/${name}`;
  const files = allowed(uses, false);
  // The columns of a record, the type that proves entitlement to a write, and what else of its own module is no layer.
  const ofStores = files.filter(
    (file) =>
      /\/(presentation|change)\.ts$/.test(file) ||
      (file.startsWith(`${name.replace(/\/.*/, '')}/`) && !/(store|service|routes)\.ts$/.test(file)),
  );
  const own = (kind: string): string[] => ['', '*-'].map((prefix) => `${folder}/${prefix}${kind}.ts`);
  return [
    serverOverride(
      [`${folder}/**`],
      [
        otherModules(name, files, 'A module imports only the public files of the modules it uses.'),
        { group: ['./*routes.ts'], message: 'Routes call services; services never import routes.' },
        detour,
      ],
    ),
    serverOverride(own('routes'), [
      otherModules(
        name,
        allowed(uses, true),
        'Routes import only the public files of the modules that their module uses.',
      ),
      { group: ['./*store.ts', 'kysely', 'kysely/**'], message: 'Routes call services, never SQL.' },
      detour,
    ]),
    serverOverride(own('store'), [
      otherModules(name, ofStores, 'A store imports only columns and the type Entitled from other modules.'),
      {
        group: ['./*store.ts', './*service.ts', './*routes.ts'],
        message: 'A store imports no store, service or routes.',
      },
      detour,
    ]),
  ];
}

/** Returns the patterns by which a file of one folder would import another folder. */
function namesOf(from: string, to: string): string[] {
  const path = posix.relative(from, to);
  // `../*` would also match `../../…`, which is another folder.
  if (path === '..') return ['../*', '!../../**'];
  return [`${path.startsWith('.') ? '' : './'}${path}/*`];
}

function platformOverride([folder, uses]: [string, string[]]) {
  const refused = Object.keys(platform).filter((other) => ![folder, '.', ...uses].includes(other));
  return serverOverride(
    [folder === '.' ? `${source}/platform/*.ts` : `${source}/platform/${folder}/*.ts`],
    [
      outsidePlatform(posix.relative(folder, '..')),
      {
        group: refused
          .map((other) => namesOf(folder, other))
          // A pattern with an exception comes first; otherwise its exception would also apply to the patterns before it.
          .sort((a, b) => b.length - a.length)
          .flat(),
        message: `Inside platform/, imports point down. ${where}`,
      },
    ],
  );
}

const outsidePlatform = (parent: string): Pattern => ({
  group: [
    `${parent}/**`,
    '@castellan/server/**',
    '@castellan/contract/*',
    ...contractOfPlatform.map((one) => `!@castellan/contract/${one}`),
  ],
  message: `platform/ imports no module, no record and nothing that is built on it. ${where}`,
});

/** Throws when the table allows two modules to import each other. */
export function renderImportRules(table: Modules = modules): string {
  const names = Object.keys(table);
  for (const [name, { uses }] of Object.entries(table))
    for (const used of uses.map((one) => one.replace(/\/.*/, '')))
      if (!names.slice(0, names.indexOf(name)).includes(used))
        throw new Error(`scripts/import-rules.ts: ${name} uses ${used}, which is not above it in the list`);
  const overrides = [
    serverOverride([`${source}/**`], []),
    ...others.map(({ files, refused, message }) => override(files, [{ group: refused, message }])),
    // A folder that the table does not name imports what lies directly in platform/.
    serverOverride([`${source}/platform/*/**`], [outsidePlatform('../..')]),
    ...Object.entries(platform).map(platformOverride),
    // A module that the table does not name imports no other.
    ...moduleOverrides('*', []),
    ...Object.entries(table).flatMap(([name, { uses }]) => moduleOverrides(name, uses)),
    {
      includes: ['packages/*/test/**', '**/*.test.ts'],
      linter: { rules: { style: { noRestrictedImports: 'off' } } },
    },
  ];
  return `{"overrides":[\n${overrides.map((one) => JSON.stringify(one)).join(',\n')}\n]}\n`;
}

/**
 * Returns the globs of rules that match no source file, and the folders that rules refuse although none has the name: such
 * rules refuse nothing.
 */
export function idlePatterns(rows: readonly Row[] = others): string[] {
  const files = globSync('packages/*/src/**/*.*', { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
  const folders = (refused: readonly string[]) => refused.filter((one) => /^\*\*\/.+\/\*\*$/.test(one));
  return rows
    .flatMap((row) => [...row.files, ...folders(row.refused).map((one) => `packages/${one}`)])
    .filter((glob) => !files.some((file) => matchesGlob(file, glob)));
}

if (import.meta.main) {
  const idle = idlePatterns();
  if (idle.length > 0) throw new Error(`scripts/import-rules.ts: nothing matches ${idle.join(', ')}`);
  const text = renderImportRules();
  if (!process.argv.includes('--check')) await writeFile(importRulesPath, text);
  else if ((await readFile(importRulesPath, 'utf8').catch(() => '')) !== text) {
    process.stderr.write('biome.imports.json is stale: run `npm run gen`.\n');
    process.exitCode = 1;
  }
}
