// Groups test files that can share a process, because loading and warming up the modules takes longer than most tests.
// It must not group files that start programs, damage their process, measure it, or run so long that a batch would end last.
import { symlinkSync, writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const secretWatch = import.meta.resolve('@castellan/testing/secret-watch');
const browser = import.meta.resolve('@castellan/testing/e2e/browser');
const testCpu = import.meta.resolve('./cpu.ts');

const sharing = [
  'packages/server/test/{access,access-changes,accounts,acting,api-resources,applications,audit,authorization,dashboard,devices,gateways,identity-providers,leaving,oauth,openid,passkeys,permission-groups,permissions,personal-tokens,records,recovery,requirements,role-groups,roles,second-factors,security,service-accounts,sessions,user-attributes,users,warnings,webhooks}/**/*.test.ts',
  'packages/server/test/http/**/*.test.ts',
  'packages/server/test/{access-tutorial,constraints,idempotency,journey,openapi,passkey-library}.test.ts',
  'packages/server/test/{backup/snapshot,settings/settings,sql/*}.test.ts',
  'packages/server/src/**/*.test.ts',
  'packages/cli/src/**/*.test.ts',
  'packages/cli/test/requirements.test.ts',
  'packages/console/src/**/*.test.ts',
  'packages/contract/src/**/*.test.ts',
  'packages/hardening/test/{openid,races,second-factors,tokens}/**/*.test.ts',
  'packages/hardening/test/fuzzing/{bodies,emails,injections,machine-credentials,searches}.test.ts',
  'packages/hardening/test/http/{addresses,echoes,headers,methods,pipelining,protocol}.test.ts',
  'packages/hardening/test/http/browsers/*.test.ts',
  'packages/hardening/test/http/floods/{one-account,refusals,repeats}.test.ts',
  'packages/openapi/src/*.test.ts',
  'packages/sdk/test/{calls,failures,operations,pages,service,service-fetch,session,stand-in,tabs,types}.test.ts',
  'packages/sdk/test/{factors,guard,testing,webhooks}/*.test.ts',
  'packages/testing/src/{openid/issuer,ports,records/audit-schemas,secret-watch}.test.ts',
  'scripts/{checks/folders,checks/lock-file,checks/migrations,checks/package-faces,checks/recipes,checks/words,gen/*,hardening,test/files,test/memory}.test.ts',
];
/** Files of those folders that may not share a process. */
const separate = [
  'packages/server/src/modules/passwords/strength.test.ts',
  'packages/server/src/platform/config/secret-files.test.ts',
  'packages/server/src/platform/logging/log-output.test.ts',
  'packages/server/src/platform/mail/outbox.test.ts',
  'packages/server/src/platform/security/{password-hasher,secret-key,factors/passkeys}.test.ts',
  'packages/server/test/http/settings.test.ts',
  'packages/server/test/openid/ends/parallel.test.ts',
];
/** These share a process and a browser. They take longest, and start first. */
const sharingBrowser = [
  'packages/console/test/e2e/!(first-five-minutes|hostile-addresses|speed).test.ts',
  'packages/console/test/e2e/*/*.test.ts',
];
const FILES_OF_A_BROWSER = 7;
// Small enough that the last batches of a run end at about the same time, large enough to save time.
const FILES_OF_A_BATCH = 14;
// With few files, each is shown by itself.
const FEW = 12;
const NUMBER_WIDTH = 3;

/**
 * Returns the programs that run all these files: links to the files that need a separate process, in order, with modules that
 * share a browser between them, then further modules. A module runs several files, each as a test with the file's tests below it. The
 * programs are created in `folder`; their names begin with numbers, because node:test sorts them.
 */
export function programsOf(files: readonly string[], folder: string): string[] {
  const matches = (file: string, globs: readonly string[]) => globs.some((glob) => matchesGlob(file, glob));
  const driven = files.filter((file) => matches(file, sharingBrowser));
  const shared = files.filter((file) => matches(file, sharing) && !matches(file, separate));
  if (driven.length + shared.length <= FEW) return [...files];
  const alone = files.filter((file) => !driven.includes(file) && !shared.includes(file));
  const pages = dealtOut(driven, FILES_OF_A_BROWSER).map((some) =>
    writing(folder, 'pages', pagesModuleOf(some)),
  );
  const creations = [
    ...spreadOver(
      alone.map((file) => linking(folder, file)),
      pages,
    ),
    ...dealtOut(shared, FILES_OF_A_BATCH).map((some) => writing(folder, 'batch', moduleOf(some))),
  ];
  return creations.map((create, index) => create(String(index + 1).padStart(NUMBER_WIDTH, '0')));
}

type Creation = (number: string) => string;

/**
 * Puts the pages between the first half of the others. Pages keep the cores busy and the others mostly wait, so that few of the one
 * run together with many of the other, and six browsers at once do not exceed the time limits of a page.
 */
function spreadOver(others: readonly Creation[], pages: readonly Creation[]): Creation[] {
  const distance = Math.ceil(others.length / 2 / Math.max(pages.length, 1));
  const mixed = pages.flatMap((page, index) => [
    page,
    ...others.slice(index * distance, (index + 1) * distance),
  ]);
  return [...mixed, ...others.slice(pages.length * distance)];
}

const writing =
  (folder: string, kind: string, code: string): Creation =>
  (number) => {
    const program = join(folder, `${number}-${kind}.mjs`);
    writeFileSync(program, code);
    return program;
  };

const linking =
  (folder: string, file: string): Creation =>
  (number) => {
    const program = join(folder, `${number}+${file.replaceAll('/', '+')}`);
    symlinkSync(join(root, file), program);
    return program;
  };

const LINK = /^.*\/\d+\+([^/]+)$/;

/** Returns the test file, relative to the project, that such a link runs; every other path as it is. */
export const fileOf = (program: string): string => {
  const [, name] = LINK.exec(program) ?? [];
  return name?.replaceAll('+', '/') ?? program;
};

/** Neighbouring files take about as long; dealing them out balances the batches. */
function dealtOut(files: readonly string[], size: number): string[][] {
  const count = Math.ceil(files.length / size);
  return Array.from({ length: count }, (_, number) =>
    files.filter((_file, index) => index % count === number),
  );
}

const pagesModuleOf = (files: readonly string[]): string =>
  [
    "import { after } from 'node:test';",
    `import { keepBrowser } from ${JSON.stringify(browser)};`,
    'keepBrowser({ after });',
    moduleOf(files),
  ].join('\n');

const moduleOf = (files: readonly string[]): string =>
  [
    "import { test } from 'node:test';",
    `import { watchNextFile } from ${JSON.stringify(secretWatch)};`,
    `import { beginFile } from ${JSON.stringify(testCpu)};`,
    ...files.map((file) => {
      const name = JSON.stringify(file);
      const url = JSON.stringify(pathToFileURL(join(root, file)).href);
      return `test(${name}, () => { beginFile(${name}); watchNextFile(); return import(${url}); });`;
    }),
    '',
  ].join('\n');
