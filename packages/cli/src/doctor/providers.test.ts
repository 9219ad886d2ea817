import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { createProviderVault } from '@castellan/server/modules/identity-providers/vault';
import { addProvider } from '@castellan/testing/openid/providers';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { lookAtProviders } from './providers.ts';

const { url, drop } = await createScratchDatabase({ migrated: true });
const pool = new pg.Pool({ connectionString: url });
after(async () => {
  await pool.end();
  await drop();
});
const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows;

test('secrets that cannot be opened and issuers without encryption are findings, unless the provider is off', async () => {
  const providerVault = createProviderVault(randomBytes(64));
  const look = () => lookAtProviders({ pool, providerVault });
  const { id, slug } = await addProvider({ sql });
  const keep = (sealed: Buffer) =>
    sql('update identity_providers set secret_sealed = $2 where id = $1', [id, sealed]);
  await keep(providerVault.sealSecret(id, 'open sesame'));
  await addProvider({ sql }, { issuer: 'http://127.0.0.1:1', is_active: false });
  assert.deepEqual(await look(), []);
  await keep(createProviderVault(randomBytes(64)).sealSecret(id, 'open sesame'));
  const plain = await addProvider({ sql }, { issuer: 'http://127.0.0.1:1' });
  const [first, second] = await look();
  assert.equal(first?.level, 'bad');
  assert.match(first?.text ?? '', new RegExp(` of ${slug},`));
  assert.equal(second?.level, 'warn');
  assert.match(second?.text ?? '', new RegExp(` of ${plain.slug} `));
});
