// What others read of identity providers: those that are active, those with a button, and their secrets.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import {
  findActiveProvider,
  findProviderById,
  keepActiveProvider,
  listShownProviders,
} from '../../src/modules/identity-providers/store.ts';
import { createProviderVault } from '../../src/modules/identity-providers/vault.ts';
import { newId } from '../../src/platform/ids.ts';
import { startWithAdmin } from '../applications/fixture.ts';

const { service } = await startWithAdmin({ after });
const { db, providerVault } = service.service.deps;

async function addProvider(
  slug: string,
  fields: { position: number; is_active?: boolean; is_shown?: boolean },
) {
  const id = newId();
  await db
    .insertInto('identity_providers')
    .values({
      id,
      slug,
      name: slug,
      kind: 'oidc',
      issuer: 'https://id.example.com',
      client_id: 'castellan',
      client_auth: 'client_secret_basic',
      secret_sealed: providerVault.sealSecret(id, 'open sesame'),
      scopes: ['openid'],
      sign_up: 'none',
      domains: [],
      required_for_domains: false,
      tenants: [],
      email_trust: 'none',
      connect: 'confirm',
      allow_superusers: false,
      mapping: 'creation',
      sync_names: false,
      acr_mapping: JSON.stringify({ phr: 'aal2' }),
      logout: 'here',
      extra_parameters: '{}',
      ...fields,
    })
    .execute();
  return id;
}

const second = await addProvider('second', { position: 2 });
await addProvider('first', { position: 1 });
await addProvider('hidden', { position: 0, is_shown: false });
const off = await addProvider('off', { position: 0, is_active: false });

test('an active provider is found by its slug, and any by its id', async () => {
  const found = await findActiveProvider(db, 'second');
  assert.deepEqual(found, await findProviderById(db, second));
  assert.deepEqual(
    [found?.acr_mapping, found?.role_ids, found?.role_mapping, found?.extra_parameters],
    [{ phr: 'aal2' }, [], [], {}],
  );
  assert.equal((await findActiveProvider(db, 'hidden'))?.slug, 'hidden');
  assert.equal(await findActiveProvider(db, 'off'), undefined);
  assert.equal((await findProviderById(db, off))?.slug, 'off');
  assert.equal(await findProviderById(db, newId()), undefined);
});

test('the sign-in page shows active providers with a button, in their order', async () => {
  assert.deepEqual(await listShownProviders(db), [
    { slug: 'first', name: 'first', kind: 'oidc' },
    { slug: 'second', name: 'second', kind: 'oidc' },
  ]);
});

test('a sign-in keeps an active provider as it is until it ends', async () => {
  await db.transaction().execute(async (tx) => {
    assert.equal(await keepActiveProvider(tx, off), false);
    assert.equal(await keepActiveProvider(tx, second), true);
    const deactivation = service.sql(
      `update identity_providers set is_active = false where id = (
         select id from identity_providers where id = $1 for no key update nowait)`,
      [second],
    );
    await assert.rejects(deactivation, { code: '55P03' });
  });
});

test('a secret opens for its provider with its key only', async () => {
  const row = await findProviderById(db, second);
  assert.ok(row);
  assert.equal(providerVault.openSecret(row), 'open sesame');
  assert.equal(providerVault.openSecret({ ...row, id: off }), undefined);
  assert.equal(createProviderVault(randomBytes(32)).openSecret(row), undefined);
  assert.equal(providerVault.openSecret({ ...row, secret_sealed: null }), null);
});
