// Installs Casbin into a temporary folder and gives it the rights of many people. It is a comparison, and must never become a dependency
// of the project.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const MODEL = `
[request_definition]
r = sub, act
[policy_definition]
p = sub, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && g(r.sub, p.sub)
`;

/** The part of its API that is used here. */
type Enforcer = {
  addPolicies(rules: string[][]): Promise<boolean>;
  addGroupingPolicies(rules: string[][]): Promise<boolean>;
  enforceSync(subject: string, action: string): boolean;
  enforce(subject: string, action: string): Promise<boolean>;
};
type Package = {
  newModelFromString(text: string): unknown;
  newCachedEnforcer(model: unknown): Promise<Enforcer>;
};

export type Casbin = {
  version: string;
  /** Asks its policies, each time. */
  decide(subject: string, action: string): boolean;
  /** Asks its cache of decisions first. */
  decideCached(subject: string, action: string): Promise<boolean>;
};

/** Installs it and tells it who has which role, and what roles permit. Needs a registry that npm reaches. */
export async function startCasbin(roleOf: string[][], permissionOf: string[][]): Promise<Casbin> {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-casbin-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', 'casbin@5'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const installed = join(folder, 'node_modules/casbin');
  const { version, main }: { version: string; main: string } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  );
  const casbin: Package = await import(pathToFileURL(join(installed, main)).href);
  const enforcer = await casbin.newCachedEnforcer(casbin.newModelFromString(MODEL));
  await enforcer.addPolicies(permissionOf);
  await enforcer.addGroupingPolicies(roleOf);
  return {
    version,
    decide: (subject, action) => enforcer.enforceSync(subject, action),
    decideCached: (subject, action) => enforcer.enforce(subject, action),
  };
}
