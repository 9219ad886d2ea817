import type { BrowserClient, User } from '@castellan/sdk';
import { Can, useCan } from '@castellan/sdk/react';
import { useCallback, useEffect, useState } from 'react';
import type { Order } from '../../orders.ts';
import { type Failure, Field, Fields, failureOf, submit } from './form.tsx';

/** Both APIs behave alike; the address says which one answers. */
const apis = { Fastify: '/fastify', Express: '/express' };

export function Orders({ client, user }: { client: BrowserClient; user: User }) {
  const [api, setApi] = useState<keyof typeof apis>('Fastify');
  const [orders, setOrders] = useState<readonly Order[]>([]);
  const [failure, setFailure] = useState<Failure>();
  const mayRead = useCan('orders.read');

  /** Calls the orders API with the access token of the session. The client refreshes it when it has ended. */
  const call = useCallback(
    async (path: string, init?: RequestInit): Promise<{ data: Order[] }> => {
      const response = await client.auth.fetch(apis[api] + path, init);
      const body = await response.json();
      if (!response.ok) throw new Error(body.detail);
      return body;
    },
    [client, api],
  );
  const load = useCallback(async () => {
    try {
      setOrders((await call('/orders')).data);
      setFailure(undefined);
    } catch (error) {
      setOrders([]);
      setFailure(failureOf(error));
    }
  }, [call]);

  const ship = async (id: string) => {
    try {
      await call(`/orders/${id}/ship`, { method: 'POST' });
      await load();
    } catch (error) {
      setFailure(failureOf(error));
    }
  };

  useEffect(() => {
    if (mayRead) void load();
  }, [mayRead, load]);

  return (
    <main>
      <header>
        <h1>Orders</h1>
        <span>{user.email}</span>
        <button type="button" onClick={() => client.auth.signOut()}>
          Sign out
        </button>
      </header>
      <label>
        Orders API
        <select value={api} onChange={(event) => setApi(event.target.value as keyof typeof apis)}>
          {Object.keys(apis).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <Fields failure={failure} />
      <Can permission="orders.read" fallback={<p>You may not see orders.</p>}>
        <ul className="orders">
          {orders.map(({ id, item, createdBy, isShipped }) => (
            <li key={id}>
              <strong>{item}</strong> <small>{createdBy}</small>
              {isShipped ? (
                <em>shipped</em>
              ) : (
                <Can permission="orders.ship">
                  <button type="button" onClick={() => ship(id)}>
                    Ship
                  </button>
                </Can>
              )}
            </li>
          ))}
        </ul>
        <button type="button" onClick={load}>
          Reload
        </button>
      </Can>
      <Can permission="orders.create">
        <form
          onSubmit={submit(async ({ item = '' }) => {
            await call('/orders', {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ item }),
            });
            await load();
          }, setFailure)}
        >
          <Field label="Item" name="item" autoComplete="off" />
          <button type="submit">Place the order</button>
        </form>
      </Can>
    </main>
  );
}
