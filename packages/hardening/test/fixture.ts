// Starts what most scenarios need: two instances on one database, and an administrator who is signed in.
// It must not judge answers.
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import type { Shot } from '@castellan/testing/volley';

export type Pair = {
  service: TestService;
  twin: TestService;
  /** Signed in as the superuser, at the first instance. */
  admin: TestClient;
  /** Returns the same browser, at the first instance for an odd `index` and at the second for an even one. */
  at(client: TestClient, index: number): TestClient;
};

// Four files run at once, each with one pair: their pools must fit into the 100 connections of a PostgreSQL server.
const POOL_SIZE = '6';

export async function openPair(hooks: Hooks, environment: Record<string, string> = {}): Promise<Pair> {
  const service = await startTestService(hooks, { DATABASE_POOL_SIZE: POOL_SIZE, ...environment });
  const twin = await service.another();
  return {
    service,
    twin,
    admin: await signIn(service, ADMIN),
    at: (client, index) => client.at(index % 2 ? service.url : twin.url),
  };
}

/**
 * Returns where a volley holds back request `index`; one in three is held at its head, so that work before the body
 * races too.
 */
export const holdOf = (index: number): NonNullable<Shot['hold']> => (index % 3 === 0 ? 'head' : 'body');
