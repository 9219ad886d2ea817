// Roles and names that follow what a provider says of people: given and taken as its record says, and nothing else.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addRole, roleNamed } from '@castellan/testing/users/people';
import { accountOf, addProvider, entriesOf, signInThere, somebody } from './fixture.ts';

const service = await startTestService({ after }, { DEFAULT_ROLE: '' });
const issuer = await startIssuer({ after });
const [engineer, writer, staff, other] = (await Promise.all(
  [1, 2, 3, 4].map(() => addRole(service, 'self.update_profile')),
)) as [string, string, string, string];
const admin = await roleNamed(service, 'Admin');
const mapping = [
  { claim: 'groups', equals: 'Engineering', role_id: engineer },
  { claim: 'realm.roles', equals: 'writer', role_id: writer },
];

const rolesOf = async (id: string | undefined): Promise<string[]> =>
  (await service.sql<{ role_id: string }>('select role_id from user_roles where user_id = $1', [id]))
    .map(({ role_id }) => role_id)
    .sort();

/** Signs in and returns the account with the entries of the request. */
async function come(provider: Parameters<typeof signInThere>[1], person: { sub: string }) {
  const client = service.client();
  const answer = await signInThere(client, provider, person);
  const me = await accountOf(client);
  assert.ok(me, answer.headers.get('location') ?? '');
  return { me, entries: await entriesOf(service, answer) };
}

test('a new account gets the roles of the record and those of its claims, but never a system role', async () => {
  const provider = await addProvider(service, issuer, {
    role_ids: [staff],
    role_mapping: [...mapping, { claim: 'groups', equals: 'engineering', role_id: admin }],
  });
  const { me, entries } = await come(
    provider,
    somebody({ groups: ['ENGINEERING', 7, null], realm: { roles: 'Writer' } }),
  );
  assert.deepEqual(await rolesOf(me.id), [engineer, staff, writer].sort());
  const entry = entries.find(({ action }) => action === 'user_roles_changed');
  assert.deepEqual(
    [entry?.actor_id, entry?.details.via, entry?.details.provider],
    [null, 'provider', provider.slug],
  );
});

test('with `creation`, later sign-ins change nothing', async () => {
  const provider = await addProvider(service, issuer, { role_mapping: mapping });
  const person = somebody({ groups: ['engineering'], realm: { roles: [] } });
  const { me } = await come(provider, person);
  await come(provider, { ...person, groups: [], realm: { roles: ['writer'] } } as typeof person);
  assert.deepEqual(await rolesOf(me.id), [engineer]);
});

test('with `every_sign_in`, the roles that the record names follow the claims, and others stay', async () => {
  const provider = await addProvider(service, issuer, { role_mapping: mapping, mapping: 'every_sign_in' });
  const person = somebody({ groups: 'engineering', realm: { roles: [] } });
  const { me } = await come(provider, person);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [me.id, other]);
  const version = async () =>
    (await service.sql<{ version: number }>('select version from users where id = $1', [me.id]))[0]
      ?.version ?? 0;
  const before = await version();
  const same = await come(provider, person);
  assert.equal(
    same.entries.some(({ action }) => action === 'user_roles_changed'),
    false,
  );
  assert.equal(await version(), before);
  const changed = await come(provider, {
    ...person,
    groups: ['sales'],
    realm: { roles: ['WRITER'] },
  } as typeof person);
  assert.deepEqual(await rolesOf(me.id), [other, writer].sort());
  assert.ok((await version()) > before);
  assert.equal(changed.entries.filter(({ action }) => action === 'user_roles_changed').length, 1);
});

test('a claim that is missing changes nothing, and an empty list takes', async () => {
  const provider = await addProvider(service, issuer, { role_mapping: mapping, mapping: 'every_sign_in' });
  const person = somebody({ groups: ['engineering'], realm: { roles: ['writer'] } });
  const { me } = await come(provider, person);
  for (const [claims, left] of [
    [{ groups: undefined, realm: undefined }, [engineer, writer]],
    [{ groups: null, realm: { roles: { writer: true } } }, [engineer, writer]],
    [{ groups: ['engineering'], realm: ['writer'] }, [engineer, writer]],
    [{ groups: [{ name: 'engineering' }], realm: { roles: [null] } }, [engineer, writer]],
    [{ groups: [], realm: {} }, [writer]],
    [{ groups: [], realm: { roles: [] } }, []],
  ] as const) {
    const { entries } = await come(provider, { ...person, ...claims } as typeof person);
    assert.deepEqual(await rolesOf(me.id), [...left].sort(), JSON.stringify(claims));
    if (left.length === 2)
      assert.ok(entries.find(({ action }) => action === 'login_succeeded')?.details.claim_missing);
  }
});

test('a role that two claims map to goes only if neither gives it', async () => {
  const provider = await addProvider(service, issuer, {
    mapping: 'every_sign_in',
    role_mapping: [
      { claim: 'groups', equals: 'a', role_id: engineer },
      { claim: 'https://acme.example/teams', equals: 'b', role_id: engineer },
    ],
  });
  const person = somebody({ groups: ['a'], 'https://acme.example/teams': [] });
  const { me } = await come(provider, person);
  for (const [claims, left] of [
    [{ groups: [], 'https://acme.example/teams': ['b'] }, [engineer]],
    [{ groups: [], 'https://acme.example/teams': undefined }, [engineer]],
    [{ groups: [], 'https://acme.example/teams': [] }, []],
  ] as const) {
    await come(provider, { ...person, ...claims } as typeof person);
    assert.deepEqual(await rolesOf(me.id), left, JSON.stringify(claims));
  }
});

test('names follow the provider only with sync_names, and only names that the rules take', async () => {
  const namesOf = async (id: string) =>
    (
      await service.sql<{ first_name: string; last_name: string }>(
        'select first_name, last_name from users where id = $1',
        [id],
      )
    )[0];
  for (const [sync, names] of [
    [false, { first_name: 'Grace', last_name: 'Hopper' }],
    [true, { first_name: 'Amazing', last_name: 'Hopper' }],
  ] as const) {
    const provider = await addProvider(service, issuer, { sync_names: sync });
    const person = somebody();
    const { me } = await come(provider, person);
    const { entries } = await come(provider, {
      ...person,
      given_name: 'Amazing',
      family_name: '<i>Grace',
    } as typeof person);
    assert.deepEqual(await namesOf(me.id), names);
    const entry = entries.find(({ action }) => action === 'user_updated');
    assert.deepEqual(entry?.details.after, sync ? { first_name: 'Amazing' } : undefined);
  }
});
