// Lets a signed-in administrator act as somebody, through the API.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '../client.ts';
import type { TestService } from '../harness.ts';
import { watch } from '../secret-watch.ts';

export const REASON = 'Ticket 4711: the invoice page stays empty.';

export const actAs = (
  client: TestClient,
  { id }: { id: string },
  body: { reason?: unknown; minutes?: unknown } = {},
): Promise<Answer> => client.post(`/api/v1/users/${id}/act-as`, { reason: REASON, ...body });

/** Returns a client in which the administrator acts as the user. It has no cookie of the administrator. */
export async function actingClient(
  service: Pick<TestService, 'client'>,
  client: TestClient,
  user: { id: string },
): Promise<TestClient> {
  const answer = await actAs(client, user);
  assert.equal(answer.status, 200, answer.text);
  const acting = service.client();
  acting.accessToken = answer.body.data.access_token;
  watch.note(answer.body.data.access_token, 'acting token');
  return acting;
}
