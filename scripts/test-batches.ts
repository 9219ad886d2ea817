// Groups test files that can share a process, because loading and warming up the modules takes longer than most tests.
// It must not group files that start programs, damage their process or measure it.
import { writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const secretWatch = import.meta.resolve('@castellan/testing/secret-watch');

const sharing = [
  'packages/server/test/{access,access-changes,accounts,audit,authorization,dashboard,oauth,permission-groups,permissions,records,role-groups,roles,service-accounts,sessions,users}/*.test.ts',
  'packages/server/test/http/{bodies,body-limits,client-address,console,csrf,errors,front-page,health,limits,logging,routes,validation}.test.ts',
  'packages/server/test/{constraints,idempotency,journey,openapi}.test.ts',
  'packages/server/test/{settings/settings,sql/*}.test.ts',
  'packages/server/src/modules/{access,audit,auth,authz}/*.test.ts',
  'packages/server/src/modules/{demo/company,passwords/policy}.test.ts',
  'packages/server/src/platform/{config,db/{failures,sql,transaction,trees}}.test.ts',
  'packages/server/src/platform/http/{accent-color,accept,accept-language,csv,json-size,method-table,serialization,static-files,validation}.test.ts',
  'packages/server/src/platform/{counted,ids,logo,limits/*,mail/{link-template,outbox-folder,text-template}}.test.ts',
  'packages/server/src/platform/security/{client-address,csrf,jwt,jwt-forgeries,signing-keys}.test.ts',
  'packages/server/src/start/*.test.ts',
  'packages/console/src/**/*.test.ts',
  'packages/hardening/test/{races,tokens}/*.test.ts',
  'packages/hardening/test/fuzzing/{bodies,emails,injections,machine-credentials,searches}.test.ts',
  'packages/hardening/test/http/{addresses,cookies,cors,echoes,headers,methods,one-account,pipelining,policy,protocol,refusals,repeats,two-cookies}.test.ts',
  'packages/sdk/test/{calls,failures,operations,pages,service-fetch,session,tabs}.test.ts',
  'packages/sdk/test/guard/{faults,middleware}.test.ts',
  'scripts/{check-lock,check-migrations,check-words,gen-*,hardening,package-faces,test-memory}.test.ts',
];
// Small enough that the last batches of a run end at about the same time, large enough to save time.
const FILES_OF_A_BATCH = 8;
// With few files, each is shown by itself.
const FEW = 12;

/**
 * Returns the programs that run all these files: first the files that need a process of their own, in order, then
 * modules in `folder` that run several files, each as a test with the file's tests below it.
 */
export function programsOf(files: readonly string[], folder: string): string[] {
  const shared = files.filter((file) => sharing.some((glob) => matchesGlob(file, glob)));
  if (shared.length <= FEW) return [...files];
  const alone = files.filter((file) => !shared.includes(file));
  const count = Math.ceil(shared.length / FILES_OF_A_BATCH);
  const batches = Array.from({ length: count }, (_, number) => {
    // Neighbouring files take about as long; dealing them out balances the batches.
    const some = shared.filter((_file, index) => index % count === number);
    const program = join(folder, `batch-${number + 1}.mjs`);
    writeFileSync(program, moduleOf(some));
    return program;
  });
  return [...alone, ...batches];
}

const moduleOf = (files: readonly string[]): string =>
  [
    "import { test } from 'node:test';",
    `import { watchNextFile } from ${JSON.stringify(secretWatch)};`,
    ...files.map((file) => {
      const url = JSON.stringify(pathToFileURL(join(root, file)).href);
      return `test(${JSON.stringify(file)}, () => { watchNextFile(); return import(${url}); });`;
    }),
    '',
  ].join('\n');
