// People who want into accounts of others through an identity provider, and administrators who want more than they hold. An account goes to
// the person who proves its address by the rules of the provider's kind, and to nobody else.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addAppUser } from '@castellan/testing/second-factors/app';
import { addPerson, addRole, type Person, roleNamed, signedInWith } from '@castellan/testing/users/people';
import { openPair } from '../fixture.ts';
import {
  accountOf,
  addProvider,
  beginAt,
  comeBack,
  heldBy,
  PROVIDERS,
  type Provider,
  resultOf,
  signInThere,
  startKind,
  UNLIMITED,
} from './providers.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after }, UNLIMITED);
const issuer = await startIssuer({ after });
const acme = await addProvider(admin, issuer);
const browserAt = (index: number): TestClient => (index % 2 ? service : twin).client();

const localOf = (email: string): string => email.slice(0, email.indexOf('@'));

scenario(
  'an address that its provider does not vouch for, or vouches for elsewhere, opens neither the account that has it nor one that waits for its owner',
  async (tally, t) => {
    const [microsoft, google, github, apple] = [
      await startKind(t, service, 'microsoft'),
      await startKind(t, service, 'google'),
      await startKind(t, service, 'github'),
      await startKind(t, service, 'apple'),
    ];
    const tenants = [String(microsoft.person.tid)];
    const at: Record<string, Provider> = {
      oidc: acme,
      microsoft: await addProvider(admin, microsoft, { kind: 'microsoft', tenants }),
      google: await addProvider(admin, google, { kind: 'google' }),
      github: await addProvider(admin, github, { kind: 'github' }),
      apple: await addProvider(admin, apple, { kind: 'apple' }),
    };
    const claims = (email: string): [kind: string, person: Record<string, unknown>][] => [
      ...[undefined, null, false, 'true', 'True', 1, [true], {}].map(
        (told): [string, Record<string, unknown>] => ['oidc', { email, email_verified: told }],
      ),
      ...[
        [email],
        `${email}.`,
        `${email}.evil.example`,
        `${localOf(email)}@sub.example.com`,
        `${localOf(email)}@example.com@evil.example`,
        `"${localOf(email)}"@example.com`,
        `${localOf(email)}@xn--example.com`,
        `${email},attacker@evil.example`,
        `attacker@evil.example ${email}`,
        `<${email}>`,
        `${email}\u0000@evil.example`,
        `${localOf(email)}@exаmple.com`,
        `${localOf(email)}+@example.com`,
      ].map((told): [string, Record<string, unknown>] => ['oidc', { email: told, email_verified: true }]),
      // Any tenant writes any address.
      ...[undefined, false, 'false', 0, '0', 'TRUE', null].map((told): [string, Record<string, unknown>] => [
        'microsoft',
        { oid: randomUUID(), email, email_verified: true, verified_primary_email: [email], xms_edov: told },
      ]),
      ['microsoft', { oid: randomUUID(), tid: randomUUID(), email, xms_edov: true }],
      ['microsoft', { oid: randomUUID(), email: undefined, preferred_username: email, upn: email }],
      // A Google account may have any address.
      ['google', { hd: undefined, email, email_verified: true }],
      ['google', { hd: 'evil.example', email, email_verified: true }],
      ['google', { hd: ['example.com'], email, email_verified: true }],
      ['google', { email, email_verified: false }],
      ['github', { id: 1, email, emails: [{ email, primary: true, verified: false }] }],
      ['github', { id: 2, email, emails: [{ email, primary: false, verified: true }] }],
      ['github', { id: 3, email, emails: [{ email, primary: 'true', verified: 'true' }] }],
      ['github', { id: 4, email, emails: [] }],
      ['apple', { email, email_verified: 'false' }],
      ['apple', { email, email_verified: 'true', is_private_email: true }],
      ['apple', { email, email_verified: 1 }],
    ];
    for (const verified of [true, false]) {
      const victim = await addPerson(service, { verified });
      for (const [index, [kind, person]] of claims(victim.email).entries()) {
        const provider = at[kind];
        assert.ok(provider);
        const browser = browserAt(index);
        const answer = await signInThere(browser, provider, person);
        tally.tried();
        const shown = JSON.stringify([kind, person]);
        assert.equal(answer.status, 303, shown);
        const account = await accountOf(browser);
        assert.notEqual(account, victim.id, shown);
        assert.deepEqual(await heldBy(service, victim.id), [0, 0], shown);
        tally.held(2);
      }
      const { status } = await service.client().login(victim);
      assert.equal(status, verified ? 200 : 422);
      tally.held();
    }
  },
);

scenario(
  'the person who registered the address of somebody else keeps nothing of the account that its owner gets: no password, session, link, identity or sign-in under way',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const person = await addPerson(service);
      const squatter = { ...person, client: await signIn(service, person) };
      const sub = randomUUID();
      // Their own identity is connected, and a second one is under way.
      const begun = await squatter.client.post('/api/v1/users/me/identities', { provider: acme.slug });
      assert.equal(begun.status, 200, begun.text);
      issuer.person = { ...issuer.person, sub, email: 'squatter@evil.example' };
      const first = issuer.approve(begun.body.data.redirect_to);
      await comeBack(squatter.client, acme, first.parameters);
      assert.equal((await heldBy(service, squatter.id))[0], 1);
      const again = await squatter.client.post('/api/v1/users/me/identities', { provider: acme.slug });
      issuer.person = { ...issuer.person, sub: randomUUID(), email: 'squatter@evil.example' };
      const second = issuer.approve(again.body.data.redirect_to);
      await service.client().post('/api/v1/auth/password-reset', { email: squatter.email });
      await service.sql('update users set verified = false where id = $1', [squatter.id]);

      const owner = browserAt(round);
      const came = await signInThere(owner, acme, { email: squatter.email, email_verified: true });
      assert.equal(resultOf(came), 'signed_in', came.headers.get('location') ?? '');
      assert.equal(await accountOf(owner), squatter.id);

      const attempts: [string, () => Promise<string | null>][] = [
        ['password', async () => String((await service.client().login(squatter)).status === 200)],
        ['session', async () => String((await squatter.client.get('/api/v1/users/me')).status === 200)],
        ['refresh', async () => String((await accountOf(squatter.client)) !== null)],
        [
          'identity',
          async () => {
            const browser = twin.client();
            await signInThere(browser, acme, { sub, email: 'squatter@evil.example', email_verified: true });
            return String((await accountOf(browser)) === squatter.id);
          },
        ],
        [
          'identity under way',
          async () => {
            await comeBack(squatter.client, acme, second.parameters);
            return String((await heldBy(service, squatter.id))[0] !== 1);
          },
        ],
      ];
      for (const [name, attempt] of attempts) {
        assert.equal(await attempt(), 'false', name);
        tally.tried();
        tally.held();
      }
      assert.equal(await accountOf(owner), squatter.id);
      const [left] = await service.sql(
        `select (select count(*)::integer from one_time_tokens where user_id = $1 and used_at is null) as links,
           (select password_hash is null from users where id = $1) as has_no_password`,
        [squatter.id],
      );
      assert.deepEqual(left, { links: 0, has_no_password: true });
      tally.held(2);
    }
  },
);

scenario(
  'an account with a second factor is not given to an administrator who makes its address their own and unverified',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const peer = await addAppUser(service);
      const { client: editor } = await signedInWith(service, 'users.read', 'users.update');
      const email = newEmail('own');
      const changed = await editor.put(`/api/v1/users/${peer.id}`, { email, verified: false });
      assert.equal(changed.status, 200, changed.text);
      const browser = browserAt(round);
      tally.tried();
      const came = await signInThere(browser, acme, { email, email_verified: true });
      assert.equal(resultOf(came), 'failed', came.headers.get('location') ?? '');
      assert.equal(await accountOf(browser), null);
      assert.equal((await heldBy(service, peer.id))[0], 0);
      const [left] = await service.sql(
        'select count(*)::integer as factors from totp_factors where user_id = $1',
        [peer.id],
      );
      assert.deepEqual(left, { factors: 1 });
      tally.held();
    }
  },
);

scenario(
  'a trusted provider opens no account that could administer, is off, or belongs to a superuser, however the role came to it',
  async (tally) => {
    const lenient = await addProvider(admin, issuer, { allow_superusers: true });
    const plain = await addRole(service, 'self.update_profile');
    const victims: [string, Person][] = [
      ['superuser', await addPerson(service, { superuser: true })],
      ['system role', await addPerson(service, { roles: [await roleNamed(service, 'Admin')] })],
      ['inactive', await addPerson(service, { active: false })],
      ['inactive, unverified', await addPerson(service, { active: false, verified: false })],
      ['unverified superuser', await addPerson(service, { superuser: true, verified: false })],
    ];
    for (const permission of ['users.read', 'identity_provider.read', 'role.update', 'audit_log.read']) {
      const roles = [plain, await addRole(service, permission)];
      victims.push([permission, await addPerson(service, { roles })]);
    }
    // The role was harmless when it was given.
    const grown = await addRole(service, 'self.update_profile');
    victims.push(['a role that grew', await addPerson(service, { roles: [grown] })]);
    await service.sql(
      "insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = 'users.update'",
      [grown],
    );
    for (const [name, victim] of victims)
      for (const [index, provider] of [acme, lenient].entries()) {
        if (name === 'unverified superuser' && provider === lenient) continue;
        const browser = browserAt(index);
        const answer = await signInThere(browser, provider, { email: victim.email, email_verified: true });
        assert.notEqual(resultOf(answer), 'signed_in', name);
        assert.equal(await accountOf(browser), null, name);
        assert.deepEqual(await heldBy(service, victim.id), [0, 0], name);
        tally.tried();
        tally.held(3);
      }
  },
);

scenario(
  'a state counts in the browser that began it, at its provider, once, at whatever instance: no other browser is signed in by it, nor its owner by that of another',
  async (tally) => {
    const other = await addProvider(admin, issuer);
    for (let round = 0; round < rounds(1, 10); round += 1) {
      const browsers = [service.client(), twin.client(), service.client()];
      const begun = [];
      for (const browser of browsers) {
        const url = await beginAt(browser, acme);
        issuer.person = { ...issuer.person, sub: randomUUID(), email: newEmail('own'), email_verified: true };
        begun.push({ browser, email: issuer.person.email, parameters: issuer.approve(url).parameters });
      }
      for (const [at, { browser }] of begun.entries())
        for (const [of, { parameters }] of begun.entries()) {
          if (at === of) continue;
          // The page that fails keeps the cookie, so that the browser's own sign-in still counts.
          assert.equal(resultOf(await comeBack(browser, acme, parameters)), 'failed');
          assert.equal(await accountOf(browser), null);
          tally.tried();
          tally.held(2);
        }
      for (const { browser, email, parameters } of begun) {
        assert.equal(resultOf(await comeBack(browser, other, parameters)), 'failed');
        const stranger = browserAt(round);
        assert.equal(resultOf(await comeBack(stranger, acme, parameters)), 'failed');
        // At both instances at once.
        const answers = await Promise.all([
          comeBack(browser.at(service.url), acme, parameters),
          comeBack(browser.at(twin.url), acme, parameters),
        ]);
        assert.deepEqual(answers.map(resultOf).sort(), ['failed', 'signed_in']);
        const [row] = await service.sql<{ id: string }>('select id from users where email = $1', [email]);
        assert.deepEqual([await accountOf(browser), await accountOf(stranger)], [row?.id, null]);
        tally.tried(4);
        tally.held(4);
      }
    }
  },
);

scenario(
  'an identity that two accounts connect at once, at two instances, goes to one of them; a session that ends by then connects nothing, and no administrator connects one for somebody',
  async (tally) => {
    for (let round = 0; round < rounds(3, 30); round += 1) {
      const people = [await signedInWith(service), await signedInWith(service)];
      const sub = randomUUID();
      const came: URLSearchParams[] = [];
      for (const { client } of people) {
        const begun = await client.post('/api/v1/users/me/identities', { provider: acme.slug });
        issuer.person = { ...issuer.person, sub, email: 'shared@example.com' };
        came.push(issuer.approve(begun.body.data.redirect_to).parameters);
      }
      await Promise.all(
        people.map(({ client }, index) =>
          comeBack(client.at(index ? twin.url : service.url), acme, came[index] ?? new URLSearchParams()),
        ),
      );
      const held = await Promise.all(people.map(async ({ person }) => (await heldBy(service, person.id))[0]));
      assert.equal(held[0]! + held[1]!, 1);
      tally.tried(2);
      tally.held();
    }
    const { client, person } = await signedInWith(service);
    const begun = await client.post('/api/v1/users/me/identities', { provider: acme.slug });
    issuer.person = { ...issuer.person, sub: randomUUID() };
    const { parameters } = issuer.approve(begun.body.data.redirect_to);
    await client.post('/api/v1/auth/logout');
    await comeBack(client, acme, parameters);
    assert.deepEqual(await heldBy(service, person.id), [0, 0]);
    for (const path of [
      `/api/v1/users/${person.id}/identities`,
      `/api/v1/users/${person.id}/identities/pending`,
    ]) {
      const answer = await admin.post(path, { provider: acme.slug });
      assert.ok([404, 405].includes(answer.status), answer.text);
      tally.tried();
      tally.held();
    }
    tally.tried();
    tally.held();
  },
);

scenario(
  'an administrator with every permission, who is no superuser, changes nothing of a provider but that it is off, and takes no identity of a superuser',
  async (tally) => {
    const all = await service.sql<{ name: string }>('select name from permissions');
    const { client } = await signedInWith(service, ...all.map(({ name }) => name));
    const one = `${PROVIDERS}/${acme.id}`;
    const read = async () => (await admin.get(one)).body.data;
    const before = await read();
    const admins = await roleNamed(service, 'Admin');
    const changes: object[] = [
      { issuer: 'https://evil.example', client_secret: 'x' },
      { client_secret: 'x' },
      { client_id: 'evil' },
      { email_trust: 'none' },
      { domains: ['example.com', 'evil.example'] },
      { allow_superusers: true },
      { sign_up: 'everyone' },
      { acr_mapping: { pwd: 'aal2' } },
      { role_ids: [admins] },
      { role_mapping: [{ claim: 'sub', equals: 'x', role_id: admins }], mapping: 'every_sign_in' },
      { required_for_domains: true },
    ];
    for (const change of changes)
      for (const body of [
        change,
        { ...change, is_active: false },
        { ...before, ...change, is_active: false },
      ])
        for (const query of ['', '?end_sessions=true']) {
          const answer = await client.put(`${one}${query}`, body);
          // Off, with what it says already, is all that it may.
          assert.ok([403, 422].includes(answer.status), `${JSON.stringify(body)} ${answer.text}`);
          tally.tried();
          tally.held();
        }
    for (const answer of [
      await client.post(PROVIDERS, {
        slug: 'mine',
        name: 'Mine',
        kind: 'oidc',
        issuer: issuer.issuer,
        client_id: 'x',
        client_secret: 'x',
      }),
      await client.post(`${one}/test`),
      await client.delete(`${one}?force=true`),
    ]) {
      assert.equal(answer.body.code, 'superuser_required', answer.text);
      tally.tried();
      tally.held();
    }
    assert.deepEqual(await read(), before);
    const superuser = await addPerson(service, { superuser: true });
    const identity = randomUUID();
    await service.sql(
      'insert into identities (id, user_id, provider_id, issuer, subject) values ($1, $2, $3, $4, $5)',
      [identity, superuser.id, acme.id, issuer.issuer, randomUUID()],
    );
    const taken = await client.delete(`/api/v1/users/${superuser.id}/identities/${identity}`);
    assert.equal(taken.body.code, 'superuser_required', taken.text);
    assert.equal((await heldBy(service, superuser.id))[0], 1);
    tally.tried();
    tally.held(3);
  },
);
