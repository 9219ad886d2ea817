// The service that guard.ts measures: one route without a guard, and the same route guarded in different ways.

import Fastify from 'fastify';
import { createGuard } from '../packages/sdk/src/guard.ts';

const { CASTELLAN_URL: baseUrl = '', CASTELLAN_API_KEY: apiKey = '' } = process.env;
const authorization = `Bearer ${apiKey}`;
const guard = createGuard({ baseUrl, apiKey });
const stale = createGuard({ baseUrl, apiKey, maxStaleMs: 1_000 });
const orders = { data: [] };
const app = Fastify();

app.get('/open', () => orders);
app.get('/guarded', { onRequest: guard.require('orders.read').fastify }, () => orders);
app.get('/stale', { onRequest: stale.require('orders.read').fastify }, () => orders);
app.get('/asked', async () => {
  const response = await fetch(`${baseUrl}/api/v1/access/v1/evaluation`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      subject: { type: 'user', id: 'bench-1@example.com' },
      action: { name: 'read' },
      resource: { type: 'orders', id: '1' },
    }),
  });
  await response.json();
  return orders;
});

const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.once('SIGTERM', () => app.close());
process.stdout.write(`${url}\n`);
