// The page of a device sends people to an identity provider to prove who they are. They come back to it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { ageProofs } from '@castellan/testing/second-factors/requirements';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addProvider, pageOf, signInThere, somebody } from '../../identity-providers/sign-in/fixture.ts';
import { read, resume } from '../authorize/fixture.ts';
import { addApplication, addSignedIn, userinfo } from '../fixture.ts';
import { allow, begin, lookUp, poll } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const issuer = await startIssuer({ after });
const provider = await addProvider(service, issuer);
const tv = await addApplication(admin, [service], { type: 'device', redirect_uris: [] });

test('who proves again at a provider that it is them comes back to the device', async () => {
  const { client, person } = await addSignedIn(service);
  const there = somebody({ email: person.email });
  await service.sql(
    'insert into identities (id, user_id, provider_id, issuer, subject) values (gen_random_uuid(), $1, $2, $3, $4)',
    [person.id, provider.id, issuer.issuer, there.sub],
  );
  const asked = await begin(service, tv);
  const id = await lookUp(client, asked);
  await ageProofs(service, person, 700);
  const shown = (await read(client, id)).body.data;
  assert.deepEqual([shown.step, shown.providers[0]?.slug], ['reauthenticate', provider.slug]);
  const page = pageOf(await signInThere(client, provider, there, { interaction_id: id }));
  assert.deepEqual(
    [page.result, page.next, page.interaction],
    ['signed_in', `/device?interaction=${id}`, undefined],
  );
  assert.equal((await read(client, id)).body.data.step, 'device');
  assert.equal((await allow(client, id)).status, 200);
  const tokens = await poll(service, tv, asked);
  assert.equal((await userinfo(service, tokens.body.access_token)).body.sub, person.id);
  assert.equal((await resume(client, id)).status, 400);
});
