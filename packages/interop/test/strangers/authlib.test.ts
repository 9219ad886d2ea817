// Authlib for Python, as Debian has it: a sign-in with PKCE, the ID token, userinfo, refresh, revocation; then the person signs out.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CALLBACK, newBrowser, SIGNED_OUT, walk } from '../providers/provider.ts';
import { missingPackages } from './missing.ts';
import { startProviders } from './providers.ts';

/** Debian's packages are for Debian's Python. */
const PYTHON = '/usr/bin/python3';
const script = fileURLToPath(new URL('authlib-client.py', import.meta.url));
const isThere = spawnSync(PYTHON, ['-c', 'import authlib, requests']).status === 0;
const skip = missingPackages(isThere, 'python3-authlib python3-requests');

for (const provider of skip ? [] : await startProviders({ after }))
  test(`Authlib signs in at ${provider.name}, refreshes and signs out`, async (t) => {
    const python = spawn(PYTHON, [script], {
      env: {
        ...process.env,
        ISSUER: provider.issuer,
        CLIENT_ID: provider.application.client_id,
        CLIENT_SECRET: provider.application.client_secret,
        REDIRECT_URI: CALLBACK,
        // The tests have no certificates.
        AUTHLIB_INSECURE_TRANSPORT: '1',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => python.kill());
    const ended = once(python, 'exit');
    const lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
    const { value: address = '' } = await lines.next();
    const browser = newBrowser(provider);
    const arrival = await walk(provider, browser, address);
    assert.ok(arrival.kind === 'application', JSON.stringify(arrival));
    python.stdin.end(`${arrival.address}\n`);
    const { value: told = '{}' } = await lines.next();
    assert.deepEqual(await ended, [0, null]);
    const { sub, again, email, is_new, ended: status, id_token, end_session_endpoint } = JSON.parse(told);
    assert.equal(email, provider.email);
    assert.equal(again, sub);
    assert.equal(is_new, true);
    assert.equal(status, 401);
    const parameters = new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: SIGNED_OUT });
    const left = await walk(provider, browser, `${end_session_endpoint}?${parameters}`);
    assert.ok(left.kind === 'application' && left.address === SIGNED_OUT, JSON.stringify(left));
  });
if (skip) test('Authlib signs in, refreshes and signs out', { skip }, () => {});
