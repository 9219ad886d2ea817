// openid-client 6, of panva, as a device: it shows a code, polls until a person has answered, and refreshes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, eventually, signIn } from '@castellan/testing/harness';
import { addApplication } from '@castellan/testing/openid/tokens';
import * as client from 'openid-client';
import { startCastellan } from '../providers/castellan.ts';

const { service, person, issuer } = await startCastellan({ after });
const tv = await addApplication(service, await signIn(service, ADMIN), {
  type: 'device',
  redirect_uris: [],
  scopes: ['openid', 'email', 'offline_access'],
});
const config = await client.discovery(new URL(issuer), tv.client_id, undefined, client.None(), {
  execute: [client.allowInsecureRequests],
});
const owner = await signIn(service, person);

/** Begins, and returns the codes with a shorter interval: each device polls twice at most. */
const begin = async () => ({
  ...(await client.initiateDeviceAuthorization(config, { scope: 'openid email offline_access' })),
  interval: 1,
});

async function answer(userCode: string, decision: 'allow' | 'deny'): Promise<void> {
  const found = await owner.post('/api/v1/oauth/device', { user_code: userCode });
  assert.equal(found.status, 200, found.text);
  const path = `/api/v1/oauth/interactions/${found.body.data.interaction_id}/consent`;
  assert.equal((await owner.post(path, { decision })).status, 200);
}

const hasPolled = (userCode: string) =>
  eventually(
    async () =>
      (
        await service.sql('select from device_requests where user_code = $1 and polled_at is not null', [
          userCode.replace('-', ''),
        ])
      )[0],
    'the first request of the device for tokens',
  );

test('openid-client signs in on a device, and refreshes', async () => {
  const asked = await begin();
  assert.equal(asked.verification_uri, `${issuer}/device`);
  const polling = client.pollDeviceAuthorizationGrant(config, asked);
  await hasPolled(asked.user_code);
  await answer(asked.user_code, 'allow');
  const tokens = await polling;
  const claims = tokens.claims();
  assert.equal(claims?.sub, person.id);
  const about = await client.fetchUserInfo(config, tokens.access_token, person.id);
  assert.equal(about.email, person.email);
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  assert.notEqual(refreshed.access_token, tokens.access_token);
});

test('openid-client learns that a person denied the device', async () => {
  const asked = await begin();
  await answer(asked.user_code, 'deny');
  await assert.rejects(client.pollDeviceAuthorizationGrant(config, asked), { error: 'access_denied' });
});
