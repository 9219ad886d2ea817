import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { createNames } from './names.ts';

test('look-ups of a name are shared, two run at once, and a failure is kept for a minute', async () => {
  let time = 0;
  const asked: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<LookupAddress[]>>();
  const names = createNames(
    (host) => {
      asked.push(host);
      const end = Promise.withResolvers<LookupAddress[]>();
      ends.set(host, end);
      return end.promise;
    },
    () => time,
  );
  const found = [{ address: '127.0.0.1', family: 4 }];
  const all = [names('a'), names('a'), names('b'), names('c')];
  assert.deepEqual(asked, ['a', 'b']);
  ends.get('a')?.resolve(found);
  assert.deepEqual(await Promise.all([all[0], all[1]]), [found, found]);
  assert.deepEqual(asked, ['a', 'b', 'c']);
  ends.get('c')?.resolve(found);
  ends.get('b')?.reject(new Error('ENOTFOUND'));
  await assert.rejects(all[2] ?? Promise.resolve(), /ENOTFOUND/);
  await assert.rejects(names('b'), /ENOTFOUND/);
  assert.equal(asked.length, 3);
  time = 60_000;
  void names('b').catch(() => undefined);
  assert.deepEqual(asked, ['a', 'b', 'c', 'b']);
  ends.get('b')?.resolve(found);
});
