// The parameter `claims` and consent: an application learns no claim of a scope that the person did not agree to.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { startWithAdmin } from '../../applications/fixture.ts';
import {
  addApplication,
  addSignedIn,
  exchange,
  type SignedIn,
  type TestApplication,
  userinfo,
} from '../fixture.ts';
import { act, ask, interactionOf, ledTo, read, resume, verifier } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const mapping = { from: 'superuser', as: 'boolean', in: ['userinfo', 'id_token'] };
const claims = [
  { ...mapping, name: 'staff', scope: 'groups' },
  { ...mapping, name: 'always' },
];
const foreign = await addApplication(admin, [service], { first_party: false, claims });
const own = await addApplication(admin, [service], { claims });

const members = { email: null, name: null, roles: { essential: true }, staff: null, unknown: null };
const asking = { scope: 'openid', claims: JSON.stringify({ userinfo: members, id_token: members }) };
const namesOf = (scopes: { name: string }[]): string[] => scopes.map(({ name }) => name).toSorted();

/** Returns what is told of the members of `asking`, and of `always`. */
async function toldFor(application: TestApplication, code: string | undefined): Promise<string[]> {
  const tokens = await exchange(service, application, { code: code ?? '', verifier });
  assert.equal(tokens.status, 200, tokens.text);
  assert.equal(tokens.body.scope, 'openid');
  const { body } = await userinfo(service, tokens.body.access_token);
  const inToken = readToken(tokens.body.id_token).claims;
  const told = [...Object.keys(members), 'always'].filter((name) => name in body);
  for (const name of [...Object.keys(members), 'always'])
    assert.equal(name in inToken, told.includes(name), name);
  return told;
}

async function agree(client: TestClient, id: string, scopes?: string[]): Promise<string | undefined> {
  const answer = await act(client, id, 'consent', { decision: 'allow', ...(scopes ? { scopes } : {}) });
  assert.equal(answer.status, 200, answer.text);
  return ledTo(await resume(client, id)).fields.code;
}

let ada: SignedIn;
test('the page asks for the scope of every claim, of mapped ones too', async () => {
  ada = await addSignedIn(service);
  const id = interactionOf(await ask(ada.client, foreign, asking));
  const { consent } = (await read(ada.client, id)).body.data;
  assert.deepEqual(namesOf(consent.scopes), ['email', 'groups', 'openid', 'profile', 'roles']);
  assert.deepEqual(await toldFor(foreign, await agree(ada.client, id)), [
    'email',
    'name',
    'roles',
    'staff',
    'always',
  ]);
  // Agreed to now.
  const again = await ask(ada.client, foreign, { ...asking, prompt: 'none' });
  assert.equal((await toldFor(foreign, ledTo(again).fields.code)).length, 5);
});

test('an earlier consent to less does not do', async () => {
  const { client } = await addSignedIn(service);
  const id = interactionOf(await ask(client, foreign, { scope: 'openid' }));
  assert.ok(await agree(client, id));
  const silent = await ask(client, foreign, { ...asking, prompt: 'none' });
  assert.equal(ledTo(silent).fields.error, 'consent_required');
  const more = interactionOf(await ask(client, foreign, asking));
  const { scopes } = (await read(client, more)).body.data.consent;
  const fresh = scopes.filter((one: { is_new: boolean }) => one.is_new);
  assert.deepEqual(namesOf(fresh), ['email', 'groups', 'profile', 'roles']);
});

for (const [what, application] of [
  ['an application that is not first-party', foreign],
  ['a first-party one that asks', own],
] as const)
  test(`${what} is not told what was left out`, async () => {
    const { client } = await addSignedIn(service);
    const id = interactionOf(await ask(client, application, { ...asking, prompt: 'consent' }));
    assert.deepEqual(await toldFor(application, await agree(client, id, ['profile'])), ['name', 'always']);
  });

test('an application that may ask for more later is not told more', async () => {
  const narrow = await addApplication(admin, [service], { first_party: false, scopes: ['openid', 'email'] });
  const { client } = await addSignedIn(service);
  const id = interactionOf(await ask(client, narrow, asking));
  const code = await agree(client, id);
  const path = `/api/v1/applications/${narrow.id}`;
  assert.equal((await admin.put(path, { scopes: ['openid', 'email', 'profile', 'roles'] })).status, 200);
  assert.deepEqual(await toldFor(narrow, code), ['email']);
});

test('a first-party application is told what it asks for, without a page', async () => {
  const { client } = await addSignedIn(service);
  const { code } = ledTo(await ask(client, own, { ...asking, prompt: 'none' })).fields;
  assert.deepEqual(await toldFor(own, code), ['email', 'name', 'roles', 'staff', 'always']);
});
