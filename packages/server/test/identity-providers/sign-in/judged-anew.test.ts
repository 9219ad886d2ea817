// What a provider said counts by the record that judged it. A record that judges otherwise ends what waits, and what is on its way.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addRole } from '@castellan/testing/users/people';
import { startWithAdmin } from '../../applications/fixture.ts';
import { path } from '../fixture.ts';
import { addProvider, begin, comeBack, pageOf, signInThere, somebody } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const issuer = await startIssuer({ after });
const fields = { sign_up: 'everyone', email_trust: 'none', acr_mapping: '{"phr":"aal2"}' };

const change = async (provider: { id: string }, body: object): Promise<void> => {
  const answer = await admin.put(`${path}/${provider.id}`, body);
  assert.equal(answer.status, 200, answer.text);
};

test('what waits ends where the record comes to judge otherwise whom it lets in, and with what', async () => {
  const role = await addRole(service, 'role.read');
  const mapping = { claim: 'groups', equals: 'staff', role_id: role };
  for (const [body, isEnded] of [
    [{ acr_mapping: {} }, true],
    [{ domains: ['other.example'] }, true],
    [{ role_mapping: [mapping] }, true],
    [{ client_id: 'another' }, true],
    [{ name: 'Other', position: 3, is_shown: false }, false],
    [{ acr_mapping: { phr: 'aal2' } }, false],
  ] as const) {
    const provider = await addProvider(service, issuer, fields);
    const client = service.client();
    assert.equal(pageOf(await signInThere(client, provider, somebody({ acr: 'phr' }))).result, 'pending');
    await change(provider, body);
    const { status } = await client.get('/api/v1/auth/pending-identity');
    assert.equal(status, isEnded ? 404 : 200, JSON.stringify(body));
  }
});

test('an answer that was judged by a record of before counts no more', async (t) => {
  const provider = await addProvider(service, issuer, { ...fields, email_trust: 'domains' });
  const client = service.client();
  const url = await begin(client, provider);
  issuer.person = somebody();
  const { upstreams } = service.service.deps;
  const { configurationOf } = upstreams;
  t.mock.method(upstreams, 'configurationOf', async (asked: Parameters<typeof configurationOf>[0]) => {
    await change(provider, { tenants: [], name: 'Renamed while it is asked' });
    return configurationOf(asked);
  });
  assert.equal(pageOf(await comeBack(client, provider, issuer.approve(url))).kind, 'unavailable');
  assert.deepEqual(await service.sql('select from identities where provider_id = $1', [provider.id]), []);
});
