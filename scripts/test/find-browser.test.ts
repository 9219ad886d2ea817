// Which browser the page tests use.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { findBrowser } from './find-browser.ts';

test('CHROMIUM takes precedence over the usual paths, and one that cannot be run is an error', async () => {
  assert.equal(await findBrowser({ chromium: process.execPath, usual: ['/bin/sh'] }), process.execPath);
  await assert.rejects(findBrowser({ chromium: '/nowhere/chromium' }), /CHROMIUM names \/nowhere\/chromium/);
});

test('the first usual path whose program prints its version is used', async () => {
  const usual = ['/nowhere/chromium', '/bin/false', process.execPath, '/nowhere/other'];
  assert.equal(await findBrowser({ chromium: '', usual, packed: false }), process.execPath);
});

test('null is returned where nothing can run', async () => {
  assert.equal(await findBrowser({ chromium: '', usual: [], packed: false }), null);
});

test('the packed Chromium is unpacked once, runs, and takes precedence over an installed one', {
  skip: process.platform === 'linux' && process.arch === 'x64' ? false : 'there is none for this system',
}, async () => {
  const found = await findBrowser({ chromium: '', usual: [process.execPath] });
  assert.ok(found);
  assert.match(execFileSync(found, ['--version'], { encoding: 'utf8' }), /Chrom/);
  assert.equal(await findBrowser({ chromium: '', usual: [] }), found);
});
