// Pages of the lists of roles, role groups, permissions and permission groups.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { namesOf, newName, startServiceWithAdmin } from '@castellan/testing/records/fixture';
import { nouns } from './nouns.ts';

const started = await startServiceWithAdmin({ after });
const { service, admin } = started;

for (const [what, noun] of Object.entries(nouns)) {
  test(`${what}s: every record is on exactly one page, by name, and totals are correct`, async () => {
    for (let made = 0; made < 7; made += 1) {
      const body = await noun.body(started, newName(made % 2 ? 'Zeta' : 'alpha'));
      assert.equal((await admin.post(noun.path, body)).status, 201);
    }
    const [{ total } = { total: 0 }] = await service.sql<{ total: number }>(
      `select count(*)::integer as total from ${noun.table}`,
    );
    const size = 3;
    const pages = Math.ceil(total / size);
    const seen: string[] = [];
    for (let page = 1; page <= pages; page += 1) {
      const { status, body } = await admin.get(`${noun.path}?page=${page}&size=${size}`);
      assert.equal(status, 200);
      assert.deepEqual(body.pagination, { page, limit: size, total, pages });
      seen.push(...namesOf(body.data));
    }
    assert.equal(seen.length, total);
    assert.deepEqual(
      seen.map((name) => name.toLowerCase()),
      seen.map((name) => name.toLowerCase()).toSorted(),
    );
    assert.equal(new Set(seen).size, total);
  });

  test(`${what}s: the default is page 1 of 50; a page beyond the end is empty, with correct totals`, async () => {
    const first = await admin.get(noun.path);
    assert.equal(first.body.pagination.page, 1);
    assert.equal(first.body.pagination.limit, 50);
    assert.equal(typeof first.body.message, 'string');
    for (const page of [10_000, 1_000_000_000]) {
      const beyond = await admin.get(`${noun.path}?page=${page}&size=100`);
      assert.equal(beyond.status, 200, beyond.text);
      assert.deepEqual(beyond.body.data, []);
      assert.equal(beyond.body.pagination.total, first.body.pagination.total);
    }
  });

  test(`${what}s: page and size out of range or not integers are 422 with the parameter's name`, async () => {
    for (const [parameter, value] of [
      ['size', '0'],
      ['size', '101'],
      ['size', '-1'],
      ['size', '1.5'],
      ['size', 'ten'],
      ['size', ''],
      ['page', '0'],
      ['page', '-1'],
      ['page', 'NaN'],
      ['page', '1e400'],
      ['page', '99999999999999999999'],
      ['page', '0x10'],
      ['page', '1e1'],
      ['page', '%2B5'],
      ['size', '%205'],
    ]) {
      const answer = await admin.get(`${noun.path}?${parameter}=${value}`);
      assertRefused(answer, 422, 'validation_failed');
      assert.equal(answer.body.errors[0].field, `query.${parameter}`);
    }
    for (const size of [1, 100]) assert.equal((await admin.get(`${noun.path}?size=${size}`)).status, 200);
  });
}
