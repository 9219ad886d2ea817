import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { lookAtPlainAddresses } from './addresses.ts';

const { url, drop } = await createScratchDatabase({ migrated: true });
const pool = new pg.Pool({ connectionString: url });
after(async () => {
  await pool.end();
  await drop();
});

const add = (name: string, addresses: { redirects?: string[]; logout?: string; active?: boolean }) =>
  pool.query(
    `insert into applications (id, client_id, name, type, is_active, auth_method, grant_types, redirect_uris,
       post_logout_redirect_uris, allowed_origins, backchannel_logout_url, first_party, scopes, subject_type,
       id_token_signing_alg, id_token_claims, require_pkce, require_par, require_dpop, access_token_seconds, id_token_seconds,
       refresh_idle_days, grant_days)
     values (gen_random_uuid(), $1, $1, 'web', $2, 'secret', '{authorization_code}', $3, '{}', '{}', $4, true, '{openid}',
       'public', 'RS256', 'all', true, false, false, 300, 300, 7, 30)`,
    [name, addresses.active ?? true, addresses.redirects ?? [], addresses.logout ?? null],
  );

test('only addresses with http on another machine are a finding', async () => {
  assert.deepEqual(await lookAtPlainAddresses(pool), []);
  await add('Local', {
    redirects: ['http://127.0.0.1:3000/callback', 'http://localhost/', 'http://[::1]:1/'],
  });
  await add('Secure', {
    redirects: ['https://app.example.com/callback'],
    logout: 'https://app.example.com/out',
  });
  await add('Inactive', { redirects: ['http://app.example.com/callback'], active: false });
  assert.deepEqual(await lookAtPlainAddresses(pool), []);
  await add('Shop', {
    redirects: ['http://shop.example/', 'http://localhost/'],
    logout: 'http://10.0.0.7/out',
  });
  await add('Wiki', { logout: 'http://10.0.0.8/out' });
  const texts = async () => (await lookAtPlainAddresses(pool)).map(({ level, text }) => `${level}: ${text}`);
  const expected = [
    'warn: Shop has 2 addresses without encryption: http://shop.example/',
    'warn: Wiki has an address without encryption: http://10.0.0.8/out',
  ];
  assert.deepEqual(await texts(), expected);
  for (const name of ['A', 'B', 'C', 'D', 'E', 'F']) await add(name, { logout: `http://10.0.0.9/${name}` });
  const all = await texts();
  assert.equal(all.length, 5);
  assert.match(all[4] ?? '', /^warn: E .+; 3 more applications have such addresses$/);
});
