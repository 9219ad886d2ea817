// Tests that the linter enforces the import rules: inserts violations of each rule, and allowed imports.
// The modules and the folders of platform/ come from the table; the other files are named here.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { platform, modules as table } from '../../../scripts/import-rules.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const server = 'packages/server/src';
const modules = `${server}/modules`;
const imports = (...sources: string[]): string => sources.map((one) => `import '${one}';`).join('\n');

/** The meaning of the rule, the file, its text, the linter's rule. */
const violations: [string, string, string, string?][] = [
  ['contract imports no other package', 'packages/contract/src/x.ts', imports('@castellan/server/errors')],
  ['contract imports no module of Node', 'packages/contract/src/y.ts', imports('node:fs')],
  ['the SDK does not know the server', 'packages/sdk/src/x.ts', imports('@castellan/server/service')],
  ['the console does not know the server', 'packages/console/src/x.ts', imports('@castellan/server/service')],
  [
    'common/ of the console does not know the app',
    'packages/console/src/common/x.ts',
    imports('../app/data/api.ts'),
  ],
  [
    'the pages of signed-out people do not know the app',
    'packages/console/src/auth/pages/x.tsx',
    imports('../../app/text.ts'),
  ],
  [
    'the main file of the command line does not load the server',
    'packages/cli/src/main.ts',
    imports('@castellan/server/main'),
  ],
  ['platform imports no module', `${server}/platform/a/x.ts`, imports('../../modules/users/service.ts')],
  ['platform knows no table', `${server}/platform/y.ts`, "export type { Db } from '../schema/database.ts';"],
  [
    'platform does not know the schema',
    `${server}/platform/w.ts`,
    "export type { Tables } from '../schema/tables.ts';",
  ],
  ['schema imports nothing of the server', `${server}/schema/x.ts`, imports('../settings.ts')],
  ['platform knows no setting', `${server}/platform/z.ts`, imports('../settings.ts')],
  ['platform knows no record', `${server}/platform/a/y.ts`, imports('@castellan/contract/users')],
  [
    'platform/ imports no other folder unless the table names it',
    `${server}/platform/a/z.ts`,
    imports('../../app.ts'),
  ],
  [
    'platform knows no setting by the name of the package',
    `${server}/platform/w.ts`,
    imports('@castellan/server/settings'),
  ],
  [
    'the document builder knows no service',
    'packages/openapi/src/x.ts',
    imports('@castellan/contract/errors'),
  ],
  ['the server imports no test', `${server}/z.ts`, imports('@castellan/testing/harness')],
  ['a module imports no test', `${modules}/users/g.ts`, imports('@castellan/testing/harness')],
  ['platform/ imports no test', `${server}/platform/db/x.ts`, imports('@castellan/testing/harness')],
  [
    'the server imports no tools for tests',
    `${server}/start/x.ts`,
    imports('@castellan/embedded-postgres/testing'),
  ],
  ['the command line imports no test', 'packages/cli/src/x.ts', imports('@castellan/testing/harness')],
  [
    'the app sends requests through its data',
    'packages/console/src/app/y.ts',
    imports('../common/client.ts'),
  ],
  ['the console imports no test', 'packages/console/src/app/x.ts', imports('@castellan/testing/client')],
  ['the harness imports no test', 'packages/testing/src/x.ts', imports('@castellan/hardening/fixture')],
  [
    'the embedded PostgreSQL does not import the server',
    'packages/embedded-postgres/src/x.ts',
    imports('@castellan/server/settings'),
  ],
  [
    'http imports no folder that is part of it',
    `${server}/platform/http/x.ts`,
    imports('./server/server.ts'),
  ],
  [
    'a folder inside a module imports no file of the module that the table does not name',
    `${modules}/audit/sinks/x.ts`,
    imports('../service.ts'),
  ],
  [
    'a folder inside a module imports no other module',
    `${modules}/audit/sinks/y.ts`,
    imports('../../authz/change.ts'),
  ],
  [
    'a folder of platform/ cannot be imported by a longer path',
    `${server}/platform/security/x.ts`,
    imports('../../platform/db/pool.ts'),
  ],
  ['the root of platform/ imports no folder', `${server}/platform/x.ts`, imports('./db/pool.ts')],
  [
    'a store imports the columns of used modules only',
    `${modules}/audit/store.ts`,
    imports('../permissions/presentation.ts'),
  ],
  ['routes import no rule of authz', `${modules}/users/a-routes.ts`, imports('../authz/delegation.ts')],
  [
    'routes import only the public files of used modules',
    `${modules}/audit/routes.ts`,
    imports('../users/service.ts'),
  ],
  ['a module imports no store of another', `${modules}/users/a.ts`, imports('../sessions/store.ts')],
  [
    'a module imports no type from a store of another',
    `${modules}/users/b.ts`,
    "export type { Row } from '../roles/store.ts';",
  ],
  [
    'a module imports no store of another dynamically',
    `${modules}/users/c.ts`,
    "export const load = () => import('../roles/store.ts');",
  ],
  [
    'a module imports no store of another by a longer path',
    `${modules}/users/d.ts`,
    imports('../../modules/roles/store.ts'),
  ],
  ['a module imports no routes of another', `${modules}/users/e.ts`, imports('../auth/routes.ts')],
  [
    'a module that is not in the table imports no store of another',
    `${modules}/x/a.ts`,
    imports('../roles/store.ts'),
  ],
  ['a service imports no routes', `${modules}/users/service.ts`, imports('./routes.ts')],
  ['routes import no store', `${modules}/users/routes.ts`, imports('./store.ts')],
  ['routes import no store by another name', `${modules}/users/bulk-routes.ts`, imports('./bulk-store.ts')],
  ['routes build no SQL', `${modules}/roles/routes.ts`, imports('kysely')],
  ['a store imports no other store', `${modules}/users/store.ts`, imports('../roles/store.ts')],
  ['a store imports no store beside it', `${modules}/auth/x-store.ts`, imports('./store.ts')],
  ['a store imports no service', `${modules}/roles/store.ts`, imports('./service.ts')],
  [
    'a store imports no service of another module',
    `${modules}/sessions/refresh-store.ts`,
    imports('../audit/service.ts'),
  ],
  ['audit imports no other module', `${modules}/audit/service.ts`, imports('../sessions/service.ts')],
  [
    'sessions does not import passwords',
    `${modules}/sessions/service.ts`,
    imports('../passwords/service.ts'),
  ],
  ['passwords does not import authz', `${modules}/passwords/service.ts`, imports('../authz/effective.ts')],
  ['authz does not import permissions', `${modules}/authz/change.ts`, imports('../permissions/service.ts')],
  ['permissions does not import roles', `${modules}/permissions/service.ts`, imports('../roles/service.ts')],
  ['roles does not import users', `${modules}/roles/service.ts`, imports('../users/service.ts')],
  ['users does not import auth', `${modules}/users/f.ts`, imports('../auth/service.ts')],
  ['no cycles', `${server}/cycle-a.ts`, imports('./cycle-b.ts'), 'noImportCycles'],
  [
    'only one file reads the environment',
    `${server}/x.ts`,
    'export const x = process.env.X;',
    'noProcessEnv',
  ],
  ['no console', `${server}/y.ts`, 'console.error(1);', 'noConsole'],
];

// Each pair of modules: one may import the other's public files exactly if the table says so. Each may import its own folders.
const pairs = Object.entries(table).flatMap(([from, { uses }]) =>
  Object.entries(table)
    .filter(([to]) => to !== from && !to.startsWith(`${from}/`))
    .map(([to, { face = ['service.ts'] }]) => ({
      path: `${modules}/${from}/to-others.ts`,
      text: imports(`${relative(from, to)}/${face[0]}`),
      mayImport: uses.includes(to),
    })),
);
for (const { path, text } of pairs.filter(({ mayImport }) => !mayImport))
  violations.push(['the table does not say so', path, text]);

// Each pair of folders of platform/, likewise.
const folders = Object.keys(platform).flatMap((from) =>
  Object.keys(platform)
    .filter((to) => to !== from)
    .map((to) => ({
      path: `${server}/platform/${from}/to-others.ts`.replace('/./', '/'),
      text: imports(`${relative(from, to)}/x.ts`.replace(/^(?!\.)/, './')),
      mayImport: to === '.' || (platform[from] ?? []).includes(to),
    })),
);
for (const { path, text } of folders.filter(({ mayImport }) => !mayImport))
  violations.push(['the table does not say so', path, text]);

// The folders of the console, as they are: what each may import, and everything else of the app that it may not.
const app = 'packages/console/src/app';
const foldersIn = (path: string): string[] =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
const pages = foldersIn(`${app}/pages`);
const usesOfConsole: Record<string, string[]> = {
  data: ['data', 'messages'],
  messages: ['data', 'messages'],
  components: ['components', 'data', 'messages'],
  shell: ['components', 'data', 'messages', 'shell'],
  pages: ['components', 'data', 'messages'],
};
const inConsole = pages.flatMap((page) => {
  const own = [page, ...foldersIn(`${app}/pages/${page}`).map((folder) => `${page}/${folder}`)];
  return own.map((folder) => `pages/${folder}`);
});
const consoleImports = [
  ...Object.keys(usesOfConsole).filter((from) => from !== 'pages'),
  ...foldersIn(`${app}/components`).map((folder) => `components/${folder}`),
  ...inConsole,
].flatMap((from) => {
  const [part = '', page] = from.split('/');
  const to = (target: string) => `${relative(from, target)}/x.ts`.replace(/^(?!\.)/, './');
  const path = `${app}/${from}/to-others.ts`;
  const parts = foldersIn(app).map((other) => ({
    path,
    text: imports(to(other === 'pages' ? 'pages/x' : other)),
    mayImport: (usesOfConsole[part] ?? []).includes(other),
  }));
  const others = part === 'pages' ? pages.filter((other) => other !== page) : [];
  return [
    ...parts,
    ...others.map((other) => ({
      path,
      text: imports(to(`pages/${other}`)),
      mayImport: false,
    })),
    { path, text: imports('@castellan/server/service'), mayImport: false },
    {
      path,
      text: imports(`${relative(from, '../common')}/client.ts`),
      mayImport: part === 'data' || part === 'messages',
    },
  ];
});
for (const { path, text } of consoleImports.filter(({ mayImport }) => !mayImport))
  violations.push(['the console has layers', path, text]);

const allowed: [string, string][] = [
  ...consoleImports
    .filter(({ mayImport }) => mayImport)
    .map(({ path, text }): [string, string] => [path, text]),
  ...foldersIn(`${app}/pages/users`).map((folder): [string, string] => [
    `${app}/pages/users/${folder}/own.ts`,
    imports('../x.ts', '../x/y.ts'),
  ]),
  ...[...pairs, ...folders]
    .filter(({ mayImport }) => mayImport)
    .map(({ path, text }): [string, string] => [path, text]),
  ...Object.entries(table).flatMap(([from, { uses }]) =>
    uses
      .filter((used) => used.endsWith('.ts'))
      .map((used): [string, string] => [
        // Not named as a store: those may import less.
        `${modules}/${from}/to-others.ts`,
        imports(relative(from, used)),
      ]),
  ),
  ['packages/contract/src/clean.ts', imports('./common.ts', 'typebox')],
  ['packages/cli/src/local/migrate.ts', imports('@castellan/server/service')],
  [`${server}/cycle-c.ts`, imports('./cycle-d.ts')],
  [`${server}/main.ts`, 'export const x = process.env.X;'],
  [`${server}/app.ts`, imports('./modules/users/routes.ts', './platform/errors.ts')],
  [
    `${server}/platform/a/clean.ts`,
    imports('../errors.ts', './x.ts', '@castellan/contract/errors', '@castellan/contract/envelope'),
  ],
  [
    `${modules}/users/clean.ts`,
    imports(
      './store.ts',
      '../audit/service.ts',
      '../authz/graph/graph.ts',
      '../../schema/database.ts',
      '../../platform/ids.ts',
    ),
  ],
  [
    `${modules}/dashboard/routes.ts`,
    imports(
      './service.ts',
      '../authz/caller.ts',
      '../../platform/http/server.ts',
      '@castellan/contract/users',
    ),
  ],
  [`${modules}/permissions/store.ts`, imports('kysely', '../../schema/database.ts', './presentation.ts')],
  [`${modules}/users/clean.test.ts`, imports('../roles/store.ts')],
];

type Diagnostic = { category: string; location: { path: string; start?: { line: number } } };
/** The lines of each file that is inserted. One file has all lines that may stand in it: the linter takes longer for files than for lines. */
const inserted = new Map<string, string[]>();
for (const [path, text] of [
  ...violations.map(([, path, text]) => [path, text] as const),
  ...allowed,
  [`${server}/cycle-b.ts`, imports('./cycle-a.ts')] as const,
  [`${server}/cycle-d.ts`, ''] as const,
])
  inserted.set(path, [...new Set([...(inserted.get(path) ?? []), ...text.split('\n')])]);
/** The rules that complain about a line, by `file:line`. */
const found = new Map<string, string[]>();
let folder: string;

const foundIn = (path: string, text: string): string[] =>
  text
    .split('\n')
    .flatMap((line) => found.get(`${path}:${(inserted.get(path) ?? []).indexOf(line) + 1}`) ?? []);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-lint-'));
  await mkdir(join(folder, 'scripts'));
  for (const name of ['biome.json', 'biome.imports.json', 'scripts/conventions.grit'])
    await copyFile(join(root, name), join(folder, name));
  for (const [path, lines] of inserted) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await writeFile(join(folder, path), `${lines.join('\n')}\n`);
  }
  for (const { category, location } of await lint(folder)) {
    assert.ok(location.start, `${category} names no line of ${location.path}`);
    const place = `${location.path.replace(`${folder}/`, '').replace(/^\.\//, '')}:${location.start.line}`;
    found.set(place, [...(found.get(place) ?? []), category.split('/').at(-1) as string]);
  }
});
after(() => rm(folder, { recursive: true }));

/** In bytes. Every pair of modules adds a diagnostic, and Node's default of 1 MiB cuts them off. */
const MAX_OUTPUT = 16 * 1_024 * 1_024;

function lint(cwd: string): Promise<Diagnostic[]> {
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '--vcs-enabled=false', '.'];
  return new Promise((resolve, reject) => {
    execFile(
      join(root, 'node_modules/.bin/biome'),
      args,
      { cwd, maxBuffer: MAX_OUTPUT },
      (error, out, err) => {
        if (!error) reject(new Error('the linter found nothing'));
        try {
          resolve(JSON.parse(out).diagnostics);
        } catch {
          reject(new Error(`the linter said: ${out}${err}`));
        }
      },
    );
  });
}

for (const [what, path, text, rule = 'noRestrictedImports'] of violations)
  test(`${what}: \`${text}\` in ${path} is refused`, () => {
    // Inserted files that import each other also form cycles.
    const rules = foundIn(path, text);
    assert.ok(rules.includes(rule), `found: ${rules}`);
  });

for (const [path, text] of allowed)
  test(`${path} may contain \`${text.replaceAll('\n', ' ')}\``, () => {
    assert.deepEqual(foundIn(path, text), []);
  });
