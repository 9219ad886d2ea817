// The library that verifies passkeys costs a start 0.1 to 0.3 s and some 20 MiB, so the first use of a passkey loads it.
// Runs in a process of its own: another test may have loaded it.
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { newAuthenticator, PASSKEY_URL, register } from '@castellan/testing/passkeys/own';
import { addUser } from '@castellan/testing/sessions/accounts';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });

test('neither the start nor the options load the library; the first registration does', async () => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      if (url.includes('/@simplewebauthn/server/')) loaded.push(url);
      return next(url, context);
    },
  });
  const client = await signIn(service, await addUser(service));
  await client.post('/api/v1/auth/login/passkey/options', {});
  await client.post('/api/v1/auth/factors/passkeys/options', { kind: 'passkey' });
  assert.deepEqual(loaded, []);
  await register(client, newAuthenticator());
  hooks.deregister();
  // Modules that a start had loaded before would not be loaded now.
  assert.ok(loaded.length > 0);
});
