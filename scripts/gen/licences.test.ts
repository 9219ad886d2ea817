// Tests that an unapproved licence is reported, and that the page lists what the lock file contains.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { licenceProblems, pageOf } from './licences.ts';

const at = (path: string, license?: string, more: object = {}) => ({
  [path]: { version: '1.2.3', ...(license ? { license } : {}), ...more },
});

test('permitted licences pass: alone, as one of two, as both of two', () => {
  for (const licence of ['MIT', 'MIT OR GPL-3.0', '(MIT AND Zlib)'])
    assert.deepEqual(licenceProblems(at('node_modules/good', licence)), []);
});

test('any other licence, one of a pair, and a missing licence are reported with the package', () => {
  for (const licence of [
    'GPL-3.0',
    'MIT AND GPL-3.0',
    '(MIT OR ISC) AND GPL-3.0',
    'GPL-3.0 AND (MIT OR ISC)',
    'SEE LICENSE IN x',
    undefined,
  ])
    assert.match(licenceProblems(at('node_modules/@x/bad', licence)).join(), /^@x\/bad 1\.2\.3 /);
});

test('nested packages are listed under their use, workspaces are not listed', () => {
  const page = pageOf({
    ...at('packages/server', 'Apache-2.0'),
    ...at('node_modules/@castellan/server', undefined, { link: true }),
    ...at('node_modules/a', 'MIT'),
    ...at('node_modules/a/node_modules/b', 'ISC', { dev: true }),
  });
  assert.ok(!page.includes('castellan/server'));
  const [, runs = '', develops = ''] = page.split(/## What every installation runs|## What only development/);
  assert.match(runs, /^ \(1\)[\s\S]*\| a \| 1\.2\.3 \| MIT \|/);
  assert.match(develops, / \(1\)[\s\S]*\| b \| 1\.2\.3 \| ISC \|/);
});

test('tools may have a licence that packages which run may not', () => {
  const tool = { version: '1.0.0', license: 'MPL-2.0' };
  assert.deepEqual(licenceProblems({ 'node_modules/tool': { ...tool, dev: true } }), []);
  assert.equal(licenceProblems({ 'node_modules/tool': tool }).length, 1);
  assert.equal(
    licenceProblems({ 'node_modules/tool': { ...tool, license: 'GPL-3.0', dev: true } }).length,
    1,
  );
});
