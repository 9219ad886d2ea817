// What the tests of each package may cost.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { complaintsOf, nextBudgets, sumsOf } from './budgets.ts';

const folder = mkdtempSync(join(tmpdir(), 'castellan-budgets-'));
after(() => rmSync(folder, { recursive: true }));

const cost = (file: string, cpu: number) => ({ file, cpu, wall: cpu });
const workload = [0.1, 0.1, 5].map((cpu) => cost('workload', cpu));
const sums = sumsOf([
  ...workload,
  cost('packages/server/test/a.test.ts', 60),
  cost('packages/server/src/b.test.ts', 40),
  cost('scripts/c.test.ts', 3),
  cost('PostgreSQL', 50),
]);

test('files are added up by package, and one slow measurement of the workload changes no unit', () => {
  assert.equal(sums.unit, 0.1);
  assert.deepEqual(Object.fromEntries(sums.seconds), { 'packages/server': 100, scripts: 3, PostgreSQL: 50 });
});

test('growth and noise pass; a package that costs four times its budget does not', () => {
  assert.deepEqual(complaintsOf(sums, { 'packages/server': 700, scripts: 1, PostgreSQL: 500 }), []);
  assert.deepEqual(complaintsOf(sums, { 'packages/server': 250, PostgreSQL: 500 }), [
    'packages/server costs 400 % of its budget',
  ]);
});

test('where most packages cost more alike, it is the machine, and one that costs far more still complains', () => {
  const budgets = { 'packages/server': 250, 'packages/cli': 10, scripts: 10, PostgreSQL: 200 };
  const more = sumsOf([
    ...workload,
    cost('packages/server/a.test.ts', 75),
    cost('packages/cli/b.test.ts', 3),
    cost('scripts/c.test.ts', 3),
    cost('PostgreSQL', 100),
  ]);
  assert.deepEqual(complaintsOf(more, budgets), []);
  assert.deepEqual(complaintsOf(more, { ...budgets, PostgreSQL: 90 }), [
    'PostgreSQL costs 1111 % of its budget',
  ]);
});

test('the next budget is what a package costs, and at most 20 % more than the last one', () => {
  assert.deepEqual(nextBudgets(sums, { 'packages/server': 500, scripts: 100, gone: 7 }), {
    PostgreSQL: 500,
    'packages/server': 600,
    scripts: 30,
  });
});

test('a process of several files reports each of them once, with its child processes', () => {
  const burn = 'const end = process.cpuUsage().user + 400_000; while (process.cpuUsage().user < end);';
  const program = join(folder, 'several.mjs');
  writeFileSync(
    program,
    `import { spawnSync } from 'node:child_process';
     import { beginFile } from ${JSON.stringify(new URL('cpu.ts', import.meta.url).href)};
     beginFile('scripts/idle.test.ts');
     beginFile('scripts/busy.test.ts');
     spawnSync(process.execPath, ['-e', ${JSON.stringify(burn)}]);`,
  );
  const report = join(folder, 'report');
  mkdirSync(report);
  const env = { ...process.env, NODE_TEST_CONTEXT: 'child', TEST_CPU_REPORT: report };
  const { status, stderr } = spawnSync(process.execPath, [program], { env, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const lines = readdirSync(report).flatMap((name) =>
    readFileSync(join(report, name), 'utf8').trimEnd().split('\n'),
  );
  const costs = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    costs.map(({ file }) => file),
    ['scripts/idle.test.ts', 'scripts/busy.test.ts'],
  );
  if (process.platform === 'linux') assert.ok(costs[1].cpu >= 0.4, `${costs[1].cpu}`);
});
