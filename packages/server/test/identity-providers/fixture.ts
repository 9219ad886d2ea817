// What the tests of identity providers share: providers created by HTTP, and people who are connected to them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Body, TestClient } from '@castellan/testing/client';
import { signIn, type TestService } from '@castellan/testing/harness';
import { addPerson, type Person } from '@castellan/testing/users/people';

export const path = '/api/v1/identity-providers';
export const SECRET = 'open sesame';
/** P-256, made for this test. */
export const APPLE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvYnYfhkYJN9Ei+os
iGersIjAKBKwsS6a5Yg+iaXBsImhRANCAAQRnIeOOKj7KjmplMehSVUwIrEJ9SN7
J3i1t7eWzH2nLXJM0q94+VIjS2zVQadcOMo2IJrKA2iFa+uxPiqqn+5N
-----END PRIVATE KEY-----
`;

/** Returns the body of a new provider with a free slug. */
export const bodyOf = (fields: object = {}): object => ({
  slug: `p-${randomUUID().slice(0, 8)}`,
  name: 'Acme',
  kind: 'oidc',
  issuer: 'https://id.example.com',
  client_id: 'castellan',
  client_secret: SECRET,
  ...fields,
});

export async function makeProvider(client: TestClient, fields: object = {}): Promise<Body> {
  const made = await client.post(path, bodyOf(fields));
  assert.equal(made.status, 201, made.text);
  return made.body.data;
}

export type Connected = { person: Person; client: TestClient; identityId: string };

/** Adds somebody who is connected to the provider, with a session that began there. */
export async function addConnected(
  service: TestService,
  provider: { id: string; issuer: string },
  { withPassword = true, person = undefined as Person | undefined } = {},
): Promise<Connected> {
  const who = person ?? (await addPerson(service));
  const client = await signIn(service, who);
  const identityId = randomUUID();
  await service.sql(
    'insert into identities (id, user_id, provider_id, issuer, subject) values ($1, $2, $3, $4, $5)',
    [identityId, who.id, provider.id, provider.issuer, randomUUID()],
  );
  await service.sql('update sessions set identity_id = $2 where user_id = $1 and identity_id is null', [
    who.id,
    identityId,
  ]);
  if (!withPassword) await service.sql('update users set password_hash = null where id = $1', [who.id]);
  return { person: who, client, identityId };
}

/** Returns the audit entries of the provider, the oldest first. */
export const entriesOf = (service: TestService, id: string) =>
  service.sql<Body>(
    `select action, details from audit_logs where resource_id = $1 and action <> 'access_previewed' order by "timestamp", id`,
    [id],
  );
