// What most scenarios stand on: two instances of one service and its administrator, and browsers spread over them.
// It must not judge answers.
import type { TestClient } from '../client.ts';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '../harness.ts';
import type { Shot } from './volley.ts';

export type Pair = {
  service: TestService;
  twin: TestService;
  /** Signed in as the superuser, at the first instance. */
  admin: TestClient;
  /** The same browser at the first instance for odd numbers, at the second for even ones. */
  at(client: TestClient, index: number): TestClient;
};

// A PostgreSQL of 100 connections has room for four such pairs beside each other, as many as files run at once.
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

/** Held back at the body or at the head by turns, so that what happens before the body is raced as well. */
export const holdOf = (index: number): NonNullable<Shot['hold']> => (index % 3 === 0 ? 'head' : 'body');
