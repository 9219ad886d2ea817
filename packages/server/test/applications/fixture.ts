// What the tests of applications share: a service with its administrator, and applications created by HTTP.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';

export const path = '/api/v1/applications';
export const newClientId = (): string => `app-${randomUUID().slice(0, 13)}`;

export async function startWithAdmin(
  hooks: Hooks,
  environment: Record<string, string> = {},
): Promise<{ service: TestService; admin: TestClient }> {
  const service = await startTestService(hooks, { CONCURRENT_SESSION_LIMIT: '0', ...environment });
  return { service, admin: await signIn(service, ADMIN) };
}

/** Creates an application. Returns its record, with the secret if it has one. */
export async function makeApplication(client: TestClient, fields: object = {}): Promise<Body> {
  const clientId = newClientId();
  const made = await client.post(path, { client_id: clientId, name: `The ${clientId}`, ...fields });
  assert.equal(made.status, 201, made.text);
  return made.body.data;
}

/** Asserts a 422 that names exactly this field. */
export function assertFieldRefused(answer: Answer, field: string): void {
  assertRefused(answer, 422, 'validation_failed');
  assert.deepEqual(
    answer.body.errors.map((one: { field: string }) => one.field),
    [field],
    answer.text,
  );
}
