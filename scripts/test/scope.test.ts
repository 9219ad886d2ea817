// What node:test reports with scope.ts is what it reports without it.
import assert from 'node:assert/strict';
import { executionAsyncId } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const fixture = fileURLToPath(new URL('scope-fixture.ts', import.meta.url));

/** Returns the report of the fixture: the tests with their nesting, results and errors, without times and stacks. */
function reportOf(...options: string[]): string[] {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const { stdout } = spawnSync(process.execPath, [...options, '--test-reporter=tap', fixture], {
    encoding: 'utf8',
    env: environment,
  });
  return stdout
    .split('\n')
    .filter((line) => /^ *((not )?ok |# |error: )/.test(line) && !line.startsWith('# duration_ms'));
}

test('each subtest and each error belongs to the same test as with the hook of node:test', () => {
  const expected = reportOf();
  assert.deepEqual(reportOf('--import', new URL('scope.ts', import.meta.url).href), expected);
  assert.deepEqual(
    expected.filter((line) => line.startsWith('# fail')),
    ['# fail 7'],
  );
  assert.equal(expected.filter((line) => line.includes('after the test ended')).length, 2);
});

test('test processes run without the hook', async () => {
  // Without any hook, node gives promises no id.
  assert.equal(await Promise.resolve().then(executionAsyncId), 0);
});
