// Events as libraries of others verify them: `standardwebhooks`, the reference of Standard Webhooks, and `svix`.
// It must not sign by itself.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

type Message = { headers: Record<string, string>; body: string };
const messages: Message[] = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  messages.push({ headers: Object.fromEntries(headers), body });
  response.writeHead(204).end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => void server.close());

const created = await admin.post('/api/v1/webhooks', {
  name: 'Strangers',
  url: `http://127.0.0.1:${portOf(server)}/`,
  events: ['role_*'],
  personal: true,
});
const { id, secret } = created.body.data;

async function messageOf(name: string): Promise<Message> {
  await admin.post('/api/v1/roles', { name });
  return eventually(() => messages.find(({ body }) => body.includes(name)), `the event of ${name}`);
}

type Verifier = { verify(body: string, headers: Record<string, string>): unknown };
/** That of svix returns nothing. */
const libraries: [string, (key: string) => Verifier][] = [
  ['standardwebhooks', (key) => new StandardWebhook(key)],
  ['svix', (key) => new SvixWebhook(key)],
];

test('libraries of others verify an event, in every script, and refuse one that was altered', async () => {
  const { headers, body } = await messageOf('Prüfer 検査 🔑');
  for (const [library, verifier] of libraries) {
    const event = verifier(secret).verify(body, headers);
    if (library === 'standardwebhooks') assert.deepEqual(event, JSON.parse(body));
    assert.throws(
      () => verifier(secret).verify(body.replace('role_created', 'role_deleted'), headers),
      library,
    );
    assert.throws(() => verifier(secret).verify(body, { ...headers, 'webhook-id': 'msg_other' }), library);
    const old = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 600) };
    assert.throws(() => verifier(secret).verify(body, old), library);
    assert.throws(
      () => verifier(`whsec_${Buffer.alloc(32, 7).toString('base64')}`).verify(body, headers),
      library,
    );
  }
});

test('while a secret is replaced, an event verifies with the former and with the new one', async () => {
  const further = await admin.post(`/api/v1/webhooks/${id}/secrets`, { overlap_seconds: 3_600 });
  const { headers, body } = await messageOf('Replaced');
  for (const [library, verifier] of libraries)
    for (const key of [secret, further.body.data.secret])
      assert.doesNotThrow(() => verifier(key).verify(body, headers), library);
});
