// Counts what one request sends to the database.
// It must not change what is sent.
import type { PoolClient } from 'pg';
import type { TestService } from '../harness.ts';

/** Nothing else may use the service meanwhile. */
export async function countStatements<T>(
  { service }: TestService,
  act: () => Promise<T>,
): Promise<{ answer: T; statements: number }> {
  const { pool } = service.deps;
  let statements = 0;
  const watched = new Map<PoolClient, PoolClient['query']>();
  const watch = (client: PoolClient): void => {
    if (watched.has(client)) return;
    const send = client.query;
    watched.set(client, send);
    client.query = ((...args: Parameters<typeof send>) => {
      statements += 1;
      return send.apply(client, args);
    }) as typeof send;
  };
  pool.on('acquire', watch);
  try {
    return { answer: await act(), statements };
  } finally {
    pool.off('acquire', watch);
    for (const [client, send] of watched) client.query = send;
  }
}
