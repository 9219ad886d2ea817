// The same orders API on Express.
import { createGuard } from '@castellan/sdk';
import express from 'express';
import { createOrders } from '../orders.ts';

const guard = createGuard({
  baseUrl: process.env.CASTELLAN_URL ?? 'http://localhost:8000',
  apiKey: process.env.CASTELLAN_API_KEY ?? '',
  live: true,
  onUnavailable: (error) => console.error(error),
});
const orders = createOrders();
const app = express();
app.disable('x-powered-by');

app.get('/orders', guard.require('orders.read').express, (_request, response) => {
  response.json({ data: orders.list() });
});

// The guard comes before the body parser: a caller without the permission sends no body.
app.post('/orders', guard.require('orders.create').express, express.json(), (request, response) => {
  const { item } = request.body ?? {};
  if (typeof item !== 'string' || item === '' || item.length > 100) {
    response
      .status(422)
      .json({ detail: 'item must be a text of 1 to 100 characters.', code: 'validation_error' });
    return;
  }
  response.status(201).json({ data: orders.create(item, guard.identityOf(request).name) });
});

app.post('/orders/:id/ship', guard.require('orders.ship').express, (request, response) => {
  const order = orders.ship(String(request.params.id));
  if (order) response.json({ data: order });
  else response.status(404).json({ detail: 'There is no such order.', code: 'not_found' });
});

app.listen(Number(process.env.PORT ?? 3002), '127.0.0.1', (error) => {
  if (error) throw error;
});
