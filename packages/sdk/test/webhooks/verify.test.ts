// Verifying webhooks: what is signed by a secret in time is taken, and nothing else.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { verifyWebhook, WebhookError, type WebhookErrorCode } from '../../src/webhooks.ts';

// The vector of the libraries of Standard Webhooks.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const OTHER = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const body = JSON.stringify({ type: 'logout', timestamp: '2026-03-14T09:26:53.589Z', data: { id: 'ä' } });

const sign = (text: string, at: number, secret = SECRET): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`${ID}.${at}.${text}`)
    .digest('base64')}`;
const now = () => Math.floor(Date.now() / 1_000);
const headersOf = (signature: string, at = now()) => ({
  'webhook-id': ID,
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
});
const refuses = (code: WebhookErrorCode, run: () => Promise<unknown>) =>
  assert.rejects(run, (error) => error instanceof WebhookError && error.code === code);

test('the vector of Standard Webhooks is signed as these tests sign', async (t) => {
  assert.equal(
    sign('{"test": 2432232314}', 1_614_265_330),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
  t.mock.timers.enable({ apis: ['Date'], now: 1_614_265_330_000 });
  // Its signature holds; its body is no event.
  const headers = headersOf('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', 1_614_265_330);
  await refuses('body_invalid', () => verifyWebhook('{"test": 2432232314}', headers, SECRET));
});

test('a message that one of the secrets signed is taken, as text and as bytes, with headers of fetch and of Node', async () => {
  const headers = headersOf(`v1a,AAAA v1,%%% ${sign(body, now(), OTHER)} ${sign(body, now())}`);
  for (const one of [headers, new Headers(headers)])
    for (const raw of [body, new TextEncoder().encode(body)])
      for (const secrets of [SECRET, [OTHER], [`whsec_${btoa('unrelated')}`, SECRET]])
        assert.deepEqual(await verifyWebhook(raw, one, secrets), JSON.parse(body));
});

test('a message with another body, id, time or secret is refused', async () => {
  const at = now();
  const headers = headersOf(sign(body, at), at);
  await refuses('signature_mismatch', () => verifyWebhook(`${body} `, headers, SECRET));
  await refuses('signature_mismatch', () =>
    verifyWebhook(body, { ...headers, 'webhook-id': 'msg_2' }, SECRET),
  );
  await refuses('signature_mismatch', () =>
    verifyWebhook(body, { ...headers, 'webhook-timestamp': `${at - 1}` }, SECRET),
  );
  await refuses('signature_mismatch', () => verifyWebhook(body, headers, OTHER));
  await refuses('signature_mismatch', () =>
    verifyWebhook(body, headersOf(sign(body, at).replace('v1,', 'v2,'), at), SECRET),
  );
});

test('a message is taken for five minutes around its time', async (t) => {
  const at = 1_900_000_000;
  t.mock.timers.enable({ apis: ['Date'], now: at * 1_000 });
  for (const off of [-300, 300]) await verifyWebhook(body, headersOf(sign(body, at + off), at + off), SECRET);
  for (const off of [-301, 301])
    await refuses('timestamp_off', () =>
      verifyWebhook(body, headersOf(sign(body, at + off), at + off), SECRET),
    );
});

test('missing headers, times that are none and secrets in another form are named', async () => {
  const headers = headersOf(sign(body, now()));
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
    await refuses('header_missing', () => verifyWebhook(body, { ...headers, [name]: undefined }, SECRET));
  await refuses('timestamp_invalid', () =>
    verifyWebhook(body, { ...headers, 'webhook-timestamp': 'soon' }, SECRET),
  );
  for (const secrets of [[], '', 'whsec_', 'whsec_%', SECRET.slice(6)])
    await refuses('secret_invalid', () => verifyWebhook(body, headers, secrets));
});
