// The text of a list in parts is that of the whole list, whatever its records have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify, { type FastifyReply } from 'fastify';
import { serialized, serializedParts } from './kept-text.ts';

const schema = {
  type: 'object',
  properties: {
    data: {
      type: 'array',
      items: { type: 'object', properties: { id: { type: 'string' }, data: { type: 'array', items: {} } } },
    },
    pagination: { type: 'object', properties: { total: { type: 'integer' } } },
    message: { type: 'string' },
  },
};

type List = { data: readonly object[] } & Record<string, unknown>;
const record = (number: number, length = 5) => ({
  id: `${number} "data":[ ${'x'.repeat(length)}`,
  data: [{ number }],
  undeclared: true,
});
const lists: Readonly<Record<string, List>> = {
  'without records': { data: [], pagination: { total: 0 }, message: 'None.' },
  'with one record': { data: [record(1)], pagination: { total: 1 }, message: '"data":[] and "data":[' },
  'with small records': {
    message: 'Before the list.',
    data: Array.from({ length: 50 }, (_, number) => record(number)),
  },
  'with large records': {
    data: [1, 2, 3, 4, 5].map((number) => record(number, 200_000)),
    message: 'After it.',
  },
};

async function partsOf(list: List, isDeclared: boolean): Promise<{ whole: string; parts: string[] }> {
  const app = Fastify();
  const found: { whole: string; parts: string[] }[] = [];
  app.get(
    '/',
    isDeclared ? { schema: { response: { 200: schema } } } : {},
    (_request, reply: FastifyReply) => {
      found.push({ whole: serialized(reply, list), parts: [...serializedParts(reply, list)] });
      return reply.send('');
    },
  );
  await app.inject('/');
  await app.close();
  assert.ok(found[0]);
  return found[0];
}

for (const [what, list] of Object.entries(lists))
  for (const isDeclared of [true, false])
    test(`${what}, ${isDeclared ? 'as the schema says' : 'without a schema'}`, async () => {
      const { whole, parts } = await partsOf(list, isDeclared);
      assert.equal(parts.join(''), whole);
      assert.equal(JSON.parse(whole).data.length, list.data.length);
      assert.equal(whole.includes('undeclared'), !isDeclared && list.data.length > 0);
    });

test('small records are one part, large ones are several', async () => {
  assert.equal((await partsOf(lists['with small records'] as List, true)).parts.length, 1);
  const { parts } = await partsOf(lists['with large records'] as List, true);
  assert.equal(parts.length, 3);
  assert.ok(parts.every(({ length }) => length <= 500_000));
});
