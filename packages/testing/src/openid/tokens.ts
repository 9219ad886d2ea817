// Applications and their tokens, for suites that are about something else.
// It inserts what an authorization grants, which has tests of its own.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { createSecretText } from '@castellan/server/platform/security/secret-text';
import type { TestClient } from '../client.ts';
import { eventually, type TestService } from '../harness.ts';
import { watch } from '../secret-watch.ts';
import { basicOf, postForm } from '../service-accounts/token-services.ts';

const REDIRECT = 'https://app.example.com/callback';

export type TestApplication = { id: string; client_id: string; client_secret: string };

/** Creates an application with a secret, and waits until the service has the keys of applications. */
export async function addApplication(
  service: TestService,
  admin: TestClient,
  fields: object = {},
): Promise<TestApplication> {
  const clientId = `app-${randomUUID().slice(0, 13)}`;
  const made = await admin.post('/api/v1/applications', {
    client_id: clientId,
    name: clientId,
    redirect_uris: [REDIRECT],
    ...fields,
  });
  assert.equal(made.status, 201, made.text);
  await eventually(
    () => (service.service.deps.keyRing.hasActiveApplication() ? true : undefined),
    'the keys of applications',
  );
  return made.body.data;
}

/** What the person agreed to, and asks a token for. */
type AgreedResource = { id: string; identifier: string; permissionIds: string[] };

/** Returns the tokens of a new grant to the application by somebody who has a session. */
export async function applicationTokens(
  service: TestService,
  application: TestApplication,
  userId: string,
  { scopes = ['openid', 'profile'], resource }: { scopes?: string[]; resource?: AgreedResource } = {},
): Promise<{ access_token: string; refresh_token: string; id_token: string }> {
  const code = createSecretText('cas_ac_');
  watch.note(code, 'code');
  const verifier = randomUUID().replaceAll('-', '').padEnd(43, 'v');
  await service.sql(
    `insert into access_grants (id, application_id, user_id, session_id, user_epoch, offline, scopes, redirect_uri, code_hash,
       code_challenge, code_expires_at, auth_time, acr, amr, expires_at, resources)
     select gen_random_uuid(), $1, u.id, (select s.id from sessions s where s.user_id = u.id and s.revoked_at is null limit 1),
       u.session_epoch, false, $3, $4, $5, $6, now() + interval '1 minute', now(), 'aal1', '{pwd}', now() + interval '1 day', $7
     from users u where u.id = $2`,
    [
      application.id,
      userId,
      scopes,
      REDIRECT,
      createHash('sha256').update(code).digest(),
      createHash('sha256').update(verifier).digest('base64url'),
      JSON.stringify(resource ? [{ resource_id: resource.id, permission_ids: resource.permissionIds }] : []),
    ],
  );
  const answer = await postForm(
    service,
    'token',
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      ...(resource ? { resource: resource.identifier } : {}),
    },
    basicOf(application.client_id, application.client_secret),
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}
