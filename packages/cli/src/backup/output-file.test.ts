import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireFree } from './output-file.ts';

test('a device or a folder is never replaced', () => {
  for (const path of ['/dev/null', '/'])
    assert.throws(() => requireFree(path, true), { message: /^\S+ is not a file\. / });
});
