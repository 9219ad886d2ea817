// Selects the test files of a run from the options of scripts/test.ts.
import { existsSync, globSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const all = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'scripts/**/*.test.ts'];
/** Attacks on the whole service. They take a third of the time of all tests, so a run without a choice leaves them out. */
const HARDENING = 'packages/hardening/';

/** Unit tests, and the main paths over HTTP: no attack, no process, no database server of its own. */
export const quick = [
  'packages/*/src/**/*.test.ts',
  'packages/server/test/accounts/**/{register,verify-email,password-reset,profile}.test.ts',
  'packages/server/test/sessions/**/{login,refresh,logout,closed-accounts}.test.ts',
  'packages/server/test/users/{create,update,roles,deletion}.test.ts',
  'packages/server/test/roles/{list,update-delete,who-may}.test.ts',
  'packages/server/test/role-groups/hierarchy.test.ts',
  'packages/server/test/authorization/escalation.test.ts',
  'packages/server/test/audit/audit-log.test.ts',
  'packages/server/test/http/{bodies/bodies,health}.test.ts',
  'packages/server/test/constraints.test.ts',
  'packages/server/test/sql/*.test.ts',
  'scripts/{checks/lock-file,gen/*,hardening,test/files}.test.ts',
];
/** Not part of a quick run: they start processes or servers, or wait, and take most of the time of the unit tests. */
export const slow = [
  'packages/embedded-postgres/**',
  'packages/server/src/platform/{log-output,mail/outbox,mail/transport}.test.ts',
  'packages/server/src/modules/passwords/strength.test.ts',
  'packages/server/src/modules/sessions/token-lookup.test.ts',
];
/** The files that take longest. They start first, so that none is left running alone at the end. */
const long =
  /\/(conformance|kill|start|statements|limits|tutorial|database[-/]\w+|fields|location|life|embedded|parallel)\.test/;

/**
 * What may depend on the version of PostgreSQL: every statement as the server describes it, migrations, plans, locks and races,
 * privileges, backups, one way through the whole service, and one comparison of its answers about access with each other. Rules,
 * counts and texts come from the same statements on every version: their tests run on the embedded PostgreSQL only.
 */
export const onEachServer = [
  'packages/cli/test/{backup,backup-refusals,database-commands}.test.ts',
  'packages/hardening/test/races/**/*.test.ts',
  'packages/server/src/modules/{authz/graph,sessions/token-lookup}.test.ts',
  'packages/server/src/platform/{db,jobs,limits}/*.test.ts',
  'packages/server/src/platform/mail/outbox.test.ts',
  'packages/server/test/{backup,sql}/*.test.ts',
  'packages/server/test/access/{agreement,holders}.test.ts',
  'packages/server/test/access-changes/many.test.ts',
  'packages/server/test/accounts/{registration/registration-backfill,seed}.test.ts',
  'packages/server/test/audit/{many-entries,replica}.test.ts',
  'packages/server/test/authorization/{change,subjects}.test.ts',
  'packages/server/test/dashboard/many-users.test.ts',
  'packages/server/test/devices/lock.test.ts',
  'packages/server/test/oauth/races.test.ts',
  'packages/server/test/openid/races.test.ts',
  'packages/server/test/openid/ends/parallel.test.ts',
  'packages/server/test/openid/authorize/{consent,end}-race.test.ts',
  'packages/server/test/{passkeys,second-factors}/races.test.ts',
  'packages/server/test/recovery/lists.test.ts',
  'packages/server/test/records/{clean-up-plans,unchanged-writes}.test.ts',
  'packages/server/test/roles/large-role.test.ts',
  'packages/server/test/sessions/{hot-statements,many-sessions,sign-in/login-commits,two-instances}.test.ts',
  'packages/server/test/start/{database-user,pooler,upgrade,workers}.test.ts',
  'packages/server/test/users/lists/{folded-search,locked,many-users,role-and-kind,search-index,without-roles}.test.ts',
  'packages/server/test/users/sessions/*.test.ts',
  'packages/server/test/{constraints,idempotency,journey}.test.ts',
];

export type Choice = {
  quick: boolean;
  /** Only files whose result may depend on the version of the run's server. */
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
    .filter((file) => file.includes(only) && (!database || dependsOnServer(file)))
    .filter((file) => only !== '' || database || !file.startsWith(HARDENING))
    .sort((a, b) => Number(long.test(b)) - Number(long.test(a)) || (a < b ? -1 : 1));
}

const dependsOnServer = (file: string): boolean => onEachServer.some((glob) => matchesGlob(file, glob));
