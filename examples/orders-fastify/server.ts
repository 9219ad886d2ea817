// An orders API on Fastify. Castellan decides who may call what; this file holds no user and no role.
import { createGuard } from '@castellan/sdk';
import Fastify from 'fastify';
import { createOrders } from '../orders.ts';

const guard = createGuard({
  baseUrl: process.env.CASTELLAN_URL ?? 'http://localhost:8000',
  apiKey: process.env.CASTELLAN_API_KEY ?? '',
  live: true,
  onUnavailable: (error) => app.log.error(error),
});
const orders = createOrders();
const app = Fastify({ logger: { level: 'warn' } });

app.get('/orders', { onRequest: guard.require('orders.read').fastify }, () => ({ data: orders.list() }));

app.post<{ Body: { item: string } }>(
  '/orders',
  {
    onRequest: guard.require('orders.create').fastify,
    schema: {
      body: {
        type: 'object',
        required: ['item'],
        properties: { item: { type: 'string', minLength: 1, maxLength: 100 } },
      },
    },
  },
  (request, reply) => {
    reply.code(201);
    return { data: orders.create(request.body.item, guard.identityOf(request).name) };
  },
);

app.post<{ Params: { id: string } }>(
  '/orders/:id/ship',
  { onRequest: guard.require('orders.ship').fastify },
  (request, reply) => {
    const order = orders.ship(request.params.id);
    if (!order) reply.code(404);
    return order ? { data: order } : { detail: 'There is no such order.', code: 'not_found' };
  },
);

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3001) });
