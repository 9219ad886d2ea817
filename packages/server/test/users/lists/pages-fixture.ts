// Pages of the list of users, compared with what a plain statement returns.
import assert from 'node:assert/strict';
import type { TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';

const orders = {
  created_at: 'created_at, id',
  '-created_at': 'created_at desc, id desc',
  email: 'email, id',
  '-last_name': 'lower(last_name) desc, id desc',
  id: 'id',
};
/** Each order of the list that has an index, in one direction, and that of ids. */
export const sorts = Object.keys(orders);

type Page = { items: { id: string }[]; total: number; total_is_estimate?: boolean };
export async function pageOf(client: TestClient, query: string): Promise<Page> {
  const answer = await client.get(`/api/v1/users/list?size=10&${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

/** Compares pages at many places of every order, and their totals, with the users who match the condition in SQL. */
export async function assertPages(
  service: TestService,
  client: TestClient,
  filter: string,
  condition: string,
): Promise<void> {
  for (const [sort, order] of Object.entries(orders)) {
    const users = await service.sql<{ id: string }>(
      `select id from users where ${condition} order by ${order}`,
    );
    const expected = users.map(({ id }) => id);
    const pages = Math.ceil(expected.length / 10);
    for (const page of new Set([1, 2, Math.ceil(pages / 3), Math.ceil(pages / 2), pages, pages + 1])) {
      if (page === 0) continue;
      const found = await pageOf(client, `${filter}&sort=${sort}&page=${page}`);
      const where = `${filter}, ${sort}, page ${page} of ${pages}`;
      assert.deepEqual([found.total, found.total_is_estimate], [expected.length, undefined], where);
      assert.deepEqual(
        found.items.map(({ id }) => id),
        expected.slice((page - 1) * 10, page * 10),
        where,
      );
    }
  }
}
