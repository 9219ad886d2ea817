import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { createWebhookVault } from '@castellan/server/modules/webhooks/vault';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { lookAtWebhooks } from './webhooks.ts';

const { url, drop } = await createScratchDatabase({ migrated: true });
const pool = new pg.Pool({ connectionString: url });
after(async () => {
  await pool.end();
  await drop();
});

test('a webhook is a finding if SECRET_KEY opens none of its live secrets', async () => {
  const webhookVault = createWebhookVault(randomBytes(64));
  const former = createWebhookVault(randomBytes(64));
  const look = async () =>
    (await lookAtWebhooks({ pool, webhookVault })).map(({ level, text }) => [level, text]);
  const { rows } = await pool.query<{ id: string; webhook_id: string }>(
    `insert into webhooks (id, name, url, events, actions, results, personal)
     values (gen_random_uuid(), 'Billing', 'https://billing.example.com', '{*}', '{}', 'all', false)
     returning id as webhook_id, gen_random_uuid() as id`,
  );
  const { id: firstId, webhook_id: webhookId } = rows[0] ?? assert.fail();
  const add = (id: string, vault: typeof webhookVault) =>
    pool.query('insert into webhook_secrets (id, webhook_id, secret_sealed) values ($1, $2, $3)', [
      id,
      webhookId,
      vault.create(id).sealed,
    ]);
  await add(firstId, former);
  assert.deepEqual(await look(), [
    ['bad', 'SECRET_KEY does not open the secrets of the webhooks Billing, so they get no events'],
  ]);
  const secondId = '00000000-0000-4000-8000-000000000001';
  await add(secondId, webhookVault);
  assert.deepEqual(await look(), []);
  await pool.query(`update webhook_secrets set ends_at = now() - interval '1 second' where id = $1`, [
    secondId,
  ]);
  assert.equal((await look()).length, 1);
});
