import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { bundledModules, bundleOf } from './bundles.mjs';

// The test command makes the bundles and loads bundles.mjs into each test process.
test('bundled dependencies are loaded from their files, which export what the dependencies export', async () => {
  const code = `const { bundledModules } = ${JSON.stringify({ bundledModules })};
    const exported = await Promise.all(bundledModules.map(async (name) => Object.keys(await import(name))));
    process.stdout.write(JSON.stringify(exported));`;
  const originals = execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    env: {},
  });
  const loaded = [];
  for (const name of bundledModules) {
    assert.equal(import.meta.resolve(name), bundleOf(name));
    loaded.push(Object.keys(await import(name)));
  }
  assert.deepEqual(loaded, JSON.parse(originals));
  assert.match(bundleOf('kysely'), /\/kysely-[\d.]+_typebox-[\d.]+\/kysely\.mjs$/);
});
