// The import rules of biome.json, held to by the linter: one planted violation of each, and what is allowed beside it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';

const root = new URL('../../../', import.meta.url).pathname;
const server = 'packages/server/src';
const modules = `${server}/modules`;
const imports = (...sources: string[]): string => sources.map((one) => `import '${one}';`).join('\n');

/** What the rule says, the file, its text, the linter's rule. */
const violations: [string, string, string, string?][] = [
  ['contract imports nothing of ours', 'packages/contract/src/x.ts', imports('@castellan/server/errors')],
  ['contract imports nothing of the runtime', 'packages/contract/src/y.ts', imports('node:fs')],
  ['the SDK does not know the server', 'packages/sdk/src/x.ts', imports('@castellan/server/service')],
  ['the console does not know the server', 'packages/console/src/x.ts', imports('@castellan/server/service')],
  ['nor does a feature of it', 'packages/console/src/features/a/x.ts', imports('@castellan/server/service')],
  ['a feature imports no other', 'packages/console/src/features/a/y.tsx', imports('../users/list.ts')],
  ['ui/ imports no feature', 'packages/console/src/ui/x.tsx', imports('../features/users/list.ts')],
  ['the command line loads the server late', 'packages/cli/src/main.ts', imports('@castellan/server/main')],
  ['platform imports no module', `${server}/platform/a/x.ts`, imports('../../modules/users/service.ts')],
  ['platform knows no table', `${server}/platform/y.ts`, "export type { Db } from '../database.ts';"],
  ['platform knows no setting', `${server}/platform/z.ts`, imports('../settings.ts')],
  ['platform knows no record', `${server}/platform/a/y.ts`, imports('@castellan/contract/users')],
  ['a module imports no store of another', `${modules}/users/a.ts`, imports('../sessions/store.ts')],
  ['nor for a type', `${modules}/users/b.ts`, "export type { Row } from '../roles/store.ts';"],
  ['nor later', `${modules}/users/c.ts`, "export const load = () => import('../roles/store.ts');"],
  ['nor by a detour', `${modules}/users/d.ts`, imports('../../modules/roles/store.ts')],
  ['nor its routes', `${modules}/users/e.ts`, imports('../auth/routes.ts')],
  ['not even from a module that biome.json does not name', `${modules}/x/a.ts`, imports('../roles/store.ts')],
  ['a service imports no routes', `${modules}/users/service.ts`, imports('./routes.ts')],
  ['routes import no store', `${modules}/users/routes.ts`, imports('./store.ts')],
  ['routes import no store by another name', `${modules}/users/bulk-routes.ts`, imports('./bulk-store.ts')],
  ['routes build no SQL', `${modules}/roles/routes.ts`, imports('kysely')],
  ['a store imports no other store', `${modules}/users/store.ts`, imports('../roles/store.ts')],
  ['a store imports no store beside it', `${modules}/auth/lockout-store.ts`, imports('./store.ts')],
  ['a store imports no service', `${modules}/roles/store.ts`, imports('./service.ts')],
  [
    'a store imports no service of another',
    `${modules}/sessions/key-store.ts`,
    imports('../audit/service.ts'),
  ],
  ['audit stands on nothing', `${modules}/audit/service.ts`, imports('../sessions/service.ts')],
  ['sessions below passwords', `${modules}/sessions/service.ts`, imports('../passwords/service.ts')],
  ['passwords below authz', `${modules}/passwords/service.ts`, imports('../authz/effective.ts')],
  ['authz below permissions', `${modules}/authz/guard.ts`, imports('../permissions/service.ts')],
  ['permissions below roles', `${modules}/permissions/service.ts`, imports('../roles/service.ts')],
  ['roles below users', `${modules}/roles/service.ts`, imports('../users/service.ts')],
  ['users below auth', `${modules}/users/f.ts`, imports('../auth/service.ts')],
  ['no cycles', `${server}/cycle-a.ts`, imports('./cycle-b.ts'), 'noImportCycles'],
  ['one reader of the environment', `${server}/x.ts`, 'export const x = process.env.X;', 'noProcessEnv'],
  ['no console', `${server}/y.ts`, 'console.error(1);', 'noConsole'],
];

const allowed: [string, string][] = [
  ['packages/contract/src/clean.ts', imports('./common.ts', 'typebox')],
  ['packages/cli/src/migrate.ts', imports('@castellan/server/service')],
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
      '../authz/graph.ts',
      '../../database.ts',
      '../../platform/ids.ts',
    ),
  ],
  [
    `${modules}/dashboard/routes.ts`,
    imports(
      './service.ts',
      '../authz/guard.ts',
      '../../platform/http/server.ts',
      '@castellan/contract/users',
    ),
  ],
  [`${modules}/permissions/store.ts`, imports('kysely', '../../database.ts', './presentation.ts')],
  [`${modules}/users/clean.test.ts`, imports('../roles/store.ts')],
];

type Diagnostic = { category: string; location: { path: string | { file: string } } };
const found = new Map<string, string[]>();
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-lint-'));
  await copyFile(join(root, 'biome.json'), join(folder, 'biome.json'));
  const files = [
    ...violations.map(([, path, text]) => [path, text] as const),
    ...allowed,
    [`${server}/cycle-b.ts`, imports('./cycle-a.ts')] as const,
    [`${server}/cycle-d.ts`, ''] as const,
  ];
  for (const [path, text] of files) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await writeFile(join(folder, path), `${text}\n`);
  }
  for (const { category, location } of await lint(folder)) {
    const path = typeof location.path === 'string' ? location.path : location.path.file;
    const file = path.replace(`${folder}/`, '').replace(/^\.\//, '');
    found.set(file, [...(found.get(file) ?? []), category.split('/').at(-1) as string]);
  }
});
after(() => rm(folder, { recursive: true }));

function lint(cwd: string): Promise<Diagnostic[]> {
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '--vcs-enabled=false', '.'];
  return new Promise((resolve, reject) => {
    execFile(join(root, 'node_modules/.bin/biome'), args, { cwd }, (error, out, err) => {
      if (!error) reject(new Error('the linter found nothing'));
      try {
        resolve(JSON.parse(out).diagnostics);
      } catch {
        reject(new Error(`the linter said: ${out}${err}`));
      }
    });
  });
}

for (const [what, path, text, rule = 'noRestrictedImports'] of violations)
  test(`${what}: \`${text}\` in ${path} is refused`, () => {
    // Planted files that name each other also form cycles.
    assert.ok(found.get(path)?.includes(rule), `found: ${found.get(path)}`);
  });

for (const [path, text] of allowed)
  test(`${path} may say \`${text.replaceAll('\n', ' ')}\``, () => {
    assert.equal(found.get(path), undefined);
  });
