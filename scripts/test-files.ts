// Selects the test files of a run from the options of scripts/test.ts.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const all = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'scripts/**/*.test.ts'];
/** Attacks on the whole service. They take a third of the time of all tests, so a run without a choice leaves them out. */
const HARDENING = 'packages/hardening/';

/** Unit tests, and the main paths over HTTP: no attack, no process, no database server of its own. */
const quick = [
  'packages/*/src/**/*.test.ts',
  'packages/server/test/*/{register,verify-email,password-reset,profile}.test.ts',
  'packages/server/test/sessions/{login,refresh,logout,closed-accounts}.test.ts',
  'packages/server/test/users/{create,update,roles,deletion}.test.ts',
  'packages/server/test/roles/{list,update-delete,who-may}.test.ts',
  'packages/server/test/role-groups/hierarchy.test.ts',
  'packages/server/test/authorization/escalation.test.ts',
  'packages/server/test/audit/audit-log.test.ts',
  'packages/server/test/http/{bodies,health}.test.ts',
  'packages/server/test/constraints.test.ts',
  'packages/server/test/sql/*.test.ts',
  'scripts/{check-lock,gen-*,hardening,test-files}.test.ts',
];
/** Not part of a quick run: they start processes or servers, or wait, and take most of the time of the unit tests. */
const slow = [
  'packages/embedded-postgres/**',
  'packages/server/src/platform/{log-output,mail/outbox,mail/transport}.test.ts',
  'packages/server/src/modules/passwords/strength.test.ts',
  'packages/server/src/modules/sessions/token-lookup.test.ts',
];
/** The files that take longest. They start first, so that none is left running alone at the end. */
const long =
  /\/(conformance|kill|start|statements|limits|tutorial|database-\w+|fields|location|life|embedded)\.test/;

/** A file that neither contains this name nor imports one that does has the same result on every server. */
const SERVER_VARIABLE = 'TEST_DATABASE_';
/**
 * These files use the run's server, but no result depends on its version: they test HTTP, pages, processes and scripts,
 * or an embedded PostgreSQL. Scenarios of the hardening suite declare the same by themselves: see scenariosOf.
 */
const sameOnEveryServer = [
  'packages/cli/test/embedded.test.ts',
  'packages/console/test/**/*.test.ts',
  'packages/sdk/test/e2e/*.test.ts',
  'packages/server/test/{e2e,http,metrics,settings}/*.test.ts',
  'packages/server/test/start/{folder-name,rolling-restart,shutdown,start,unexpected}.test.ts',
  'packages/server/test/{access-tutorial,openapi,tutorial}.test.ts',
  'scripts/*.test.ts',
];

export type Choice = {
  quick: boolean;
  /** Only files whose result may depend on the run's server. */
  database: boolean;
  /** Part of the path; empty selects all files but those of the hardening suite. */
  only: string;
  /** Exactly these files, whatever the other options say. */
  named: readonly string[];
};

/** Returns paths relative to the project. Throws when a named file is missing. */
export function testFiles({ quick: isQuick, database, only, named }: Choice): string[] {
  const missing = named.find((file) => !existsSync(join(root, file)));
  if (missing !== undefined) throw new Error(`There is no file ${missing}.`);
  if (named.length > 0) return [...named];
  const files = isQuick ? globSync(quick, { cwd: root, exclude: slow }) : globSync(all, { cwd: root });
  return files
    .filter((file) => (only === '' ? !file.startsWith(HARDENING) : file.includes(only)))
    .filter((file) => !database || dependsOnServer(file))
    .sort((a, b) => Number(long.test(b)) - Number(long.test(a)) || (a < b ? -1 : 1));
}

function dependsOnServer(file: string): boolean {
  if (sameOnEveryServer.some((glob) => matchesGlob(file, glob))) return false;
  const areas = [...readFileSync(join(root, file), 'utf8').matchAll(/ scenariosOf\((.*)\);/g)];
  const isFree = areas.length > 0 && areas.every(([, area = '']) => area.endsWith(", 'any database'"));
  return !isFree && usesServer(file);
}

/** Returns whether the file, or one that it imports directly or indirectly, uses the run's server. */
function usesServer(file: string): boolean {
  const known = new Set([file]);
  // The set grows during the iteration.
  for (const one of known) for (const imported of importsOf(one)) known.add(imported);
  return [...known].some((one) => readFileSync(join(root, one), 'utf8').includes(SERVER_VARIABLE));
}

const imports = new Map<string, string[]>();

/** Returns the project's files that this one names, in an import or as the URL of a program. */
function importsOf(file: string): string[] {
  const found =
    imports.get(file) ??
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /(?:from |import |import\(|URL\()'(\.[^']+\.ts|@castellan\/[^']+)'/g,
      ),
    ]
      .map(([, name = '']) => (name.startsWith('.') ? join(dirname(file), name) : faceOf(name)))
      .filter((path) => existsSync(join(root, path)));
  imports.set(file, found);
  return found;
}

/** Returns the file that a package of the project exports under this name. */
const faceOf = (name: string): string => relative(root, fileURLToPath(import.meta.resolve(name)));
