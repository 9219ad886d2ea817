import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import type { AgedReads } from '../db/aged-reads.ts';
import { agedReader } from './aged-reads.ts';

/** A standby that is `ages` behind, read by read; null where it is not used. */
const standbyOf = (ages: (number | null)[]): AgedReads<null> => ({
  async run(read, { current = false } = {}) {
    const ageSeconds = ages.shift() ?? null;
    return { value: await read(null), ageSeconds: current ? null : ageSeconds };
  },
});

test('a response that was read from the primary once stays there; the age is that of the first read', async () => {
  const begun = async (ages: (number | null)[], cacheControl = '') => {
    const app = fastify();
    const from: (number | null)[] = [];
    app.get('/', async (request, reply) => {
      const standby = standbyOf(ages);
      const run: AgedReads<null>['run'] = async (read, options) => {
        const result = await standby.run(read, options);
        from.push(result.ageSeconds);
        return result;
      };
      const read = agedReader({ run }, request, reply);
      for (let batch = 0; batch < 3; batch += 1) await read(async () => batch);
      return '';
    });
    const { headers } = await app.inject({ url: '/', headers: { 'cache-control': cacheControl } });
    return { from, age: headers.age };
  };
  assert.deepEqual(await begun([null, 9, 1]), { from: [null, null, null], age: undefined });
  assert.deepEqual(await begun([2, null, 3]), { from: [2, null, null], age: '2' });
  assert.deepEqual(await begun([2, 2, 2], 'max-age=0, no-cache'), {
    from: [null, null, null],
    age: undefined,
  });
});
