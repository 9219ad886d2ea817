// The orders of the examples, in memory.
import { randomUUID } from 'node:crypto';

export type Order = { id: string; item: string; createdBy: string; isShipped: boolean };

export function createOrders() {
  const orders = new Map<string, Order>();
  return {
    list: (): Order[] => [...orders.values()],
    create(item: string, createdBy: string): Order {
      const order: Order = { id: randomUUID(), item, createdBy, isShipped: false };
      orders.set(order.id, order);
      return order;
    },
    ship(id: string): Order | undefined {
      const order = orders.get(id);
      if (order) order.isShipped = true;
      return order;
    },
  };
}
