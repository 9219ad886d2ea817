// What a provider says is worth a password and no more, unless its record says more; and the codes that are mailed to people who come from
// one cannot be guessed, spread or told apart. It must not judge who owns an address: provider-accounts.test.ts does.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually, newEmail, signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import {
  type AppUser,
  addAppUser,
  codeOf,
  completeSignIn,
  forgetStep,
} from '@castellan/testing/second-factors/app';
import { browserWith, deviceTokens, trustedBrowser } from '@castellan/testing/second-factors/devices';
import { addPerson } from '@castellan/testing/users/people';
import { openPair } from '../fixture.ts';
import {
  accountOf,
  addProvider,
  heldBy,
  PROVIDERS,
  type Provider,
  resultOf,
  signInThere,
  UNLIMITED,
} from './providers.ts';

const scenario = scenariosOf('factors');
const { service, twin, admin } = await openPair({ after }, { ...UNLIMITED, ACCOUNT_EMAIL_LIMIT: '3/hour' });
const issuer = await startIssuer({ after });
const strong = await addProvider(admin, issuer, { acr_mapping: { phr: 'aal2', mfa: 'aal2' } });
const open = await addProvider(admin, issuer, { email_trust: 'none', sign_up: 'everyone' });
const browserAt = (index: number): TestClient => (index % 2 ? service : twin).client();

/** Connects an identity of the provider to somebody with an app, as their own account does. Returns its `sub`. */
async function connectedTo(provider: Provider, { id }: { id: string }): Promise<string> {
  const sub = randomUUID();
  await service.sql(
    'insert into identities (id, user_id, provider_id, issuer, subject) values ($1, $2, $3, $4, $5)',
    [randomUUID(), id, provider.id, provider.issuer.issuer, sub],
  );
  return sub;
}

const pendingOf = async (browser: TestClient) =>
  (await browser.get('/api/v1/auth/pending-identity', { headers: { authorization: null } })).body.data;
const ask = (browser: TestClient, email: string): Promise<Answer> =>
  browser.post('/api/v1/auth/pending-identity/email', { email });
const confirm = (browser: TestClient, code: string): Promise<Answer> =>
  browser.post('/api/v1/auth/pending-identity/confirm', { code });

const sessionsOf = async (user: { id: string }): Promise<number> => (await heldBy(service, user.id))[1];

scenario(
  'nothing that a provider may say stands for the second factor but the values of its record, exactly, in the ID token',
  async (tally) => {
    const user = await addAppUser(service);
    const sub = await connectedTo(strong, user);
    const before = await sessionsOf(user);
    const said = [
      {},
      ...['PHR', 'phr ', ' mfa', 'aal2', 'constructor', '__proto__', 'toString', '', 0, true, null].map(
        (acr) => ({ acr }),
      ),
      ...[['phr'], { phr: 'aal2' }].map((acr) => ({ acr })),
      ...[
        'mfa',
        'pwd mfa',
        ['MFA'],
        ['pwd,mfa'],
        [['mfa']],
        [{ mfa: true }],
        { 0: 'mfa' },
        ['__proto__'],
      ].map((amr) => ({ amr })),
      { acr_values: 'phr', amr_values: ['mfa'], acrs: ['phr'] },
    ];
    for (const [index, claims] of said.entries()) {
      const browser = browserAt(index);
      const answer = await signInThere(browser, strong, { acr: undefined, amr: undefined, sub, ...claims });
      assert.equal(resultOf(answer), 'pending', JSON.stringify(claims));
      assert.equal((await pendingOf(browser)).step, 'second_factor');
      assert.equal(await accountOf(browser), null);
      tally.tried();
      tally.held(3);
    }
    // What userinfo says of it is not in the ID token.
    issuer.misbehaviour = { userinfo: { acr: 'phr', amr: ['mfa'] }, idToken: { email: undefined } };
    const browser = service.client();
    assert.equal(
      resultOf(await signInThere(browser, strong, { acr: undefined, amr: undefined, sub })),
      'pending',
    );
    issuer.misbehaviour = {};
    assert.equal(await sessionsOf(user), before);
    assert.equal(resultOf(await signInThere(browser, strong, { sub, acr: 'phr' })), 'signed_in');
    tally.tried();
    tally.held(2);
  },
);

scenario(
  'with the identity of somebody alone there is no session: not by the token in another browser, the trust of another device, wrong or used codes, nor after what began it has ended',
  async (tally) => {
    const begin = async (user: AppUser, browser: TestClient): Promise<{ token: string; sub: string }> => {
      const sub = await connectedTo(open, user);
      await signInThere(browser, open, { sub });
      const { second_factor: request } = await pendingOf(browser);
      return { token: request.token, sub };
    };
    const refused = async (user: AppUser, answer: Answer, name: string): Promise<void> => {
      assert.equal(answer.status, 422, `${name}: ${answer.text}`);
      const rows = await service.sql('select from sessions where user_id = $1 and identity_id is not null', [
        user.id,
      ]);
      assert.equal(rows.length, 0, name);
      tally.tried();
      tally.held(2);
    };
    const victim = await addAppUser(service);
    const attacker = await addAppUser(service);
    const devices = deviceTokens(await trustedBrowser(service, attacker));
    const thief = browserWith(service, devices);
    const { token } = await begin(victim, thief);
    // The trust is the attacker's own account's.
    assert.equal(await accountOf(thief), null);
    const right = () => codeOf(victim.secret);
    await forgetStep(service, victim);
    await refused(victim, await completeSignIn(twin.client(), token, { totp: right() }), 'another browser');
    await refused(victim, await completeSignIn(thief, token, { totp: codeOf(attacker.secret) }), 'own app');
    await refused(
      victim,
      await completeSignIn(thief, token, { recovery_code: attacker.recoveryCodes[0] ?? '' }),
      'own recovery code',
    );
    await refused(victim, await completeSignIn(thief, token, { recovery_token: 'x'.repeat(43) }), 'a link');

    const ends: [string, (user: AppUser, sub: string) => Promise<unknown>][] = [
      ['identity', (_user, sub) => service.sql('delete from identities where subject = $1', [sub])],
      ['inactive', ({ id }) => service.sql('update users set is_active = false where id = $1', [id])],
      ['unverified', ({ id }) => service.sql('update users set verified = false where id = $1', [id])],
      ['superuser', ({ id }) => service.sql('update users set is_superuser = true where id = $1', [id])],
      [
        'password',
        ({ id }) => service.sql('update users set password_epoch = password_epoch + 1 where id = $1', [id]),
      ],
      ['everywhere', ({ client }) => client.post('/api/v1/auth/logout/all')],
      [
        'signed out there',
        async (_user, sub) => {
          const body = new URLSearchParams({ logout_token: issuer.logoutToken({ sub }) }).toString();
          const answer = await service
            .client()
            .request('POST', `/api/v1/auth/providers/${open.slug}/backchannel-logout`, {
              raw: body,
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
            });
          assert.equal(answer.status, 200, answer.text);
        },
      ],
    ];
    for (const [name, end] of ends) {
      const user = await addAppUser(service);
      const browser = service.client();
      const begun = await begin(user, browser);
      await end(user, begun.sub);
      await forgetStep(service, user);
      await refused(user, await completeSignIn(browser, begun.token, { totp: codeOf(user.secret) }), name);
    }
    // Switched off, with the sign-ins under way.
    const off = await addProvider(admin, issuer);
    const user = await addAppUser(service);
    const sub = await connectedTo(off, user);
    const browser = service.client();
    await signInThere(browser, off, { sub });
    const request = (await pendingOf(browser)).second_factor;
    await admin.put(`${PROVIDERS}/${off.id}`, { is_active: false });
    await refused(user, await completeSignIn(browser, request.token, { totp: codeOf(user.secret) }), 'off');
  },
);

scenario(
  'codes to an address are few, however many browsers ask and sign-ins begin, count in one browser, and take five tries over all instances',
  async (tally) => {
    for (let round = 0; round < rounds(1, 8); round += 1) {
      const email = newEmail('asked');
      const browsers = [];
      for (let index = 0; index < 6; index += 1) {
        const browser = browserAt(index);
        assert.equal(resultOf(await signInThere(browser, open, { email: 'me@evil.example' })), 'pending');
        assert.equal((await ask(browser, email)).status, 200);
        browsers.push(browser);
      }
      const mails = await eventually(async () => {
        const sent = service.mails().filter(({ to }) => to === email);
        return sent.length >= 3 ? sent : undefined;
      }, 'the mails');
      const queued = await service.sql(
        "select from outbox where kind = 'provider_code' and payload->>'email' = $1",
        [email],
      );
      assert.deepEqual([mails.length, queued.length], [3, 3]);
      const codes = mails.map(({ text }) => /^(\d{8})$/m.exec(text)?.[1] ?? '');
      // Every code in every browser, at both instances at once: it counts where it was asked for, if the tries last.
      const other = browserAt(round);
      await signInThere(other, open, { email: 'other@evil.example' });
      for (const code of codes) {
        const answers = await Promise.all([
          confirm(other.at(service.url), code),
          confirm(other.at(twin.url), code),
        ]);
        for (const { body } of answers) assert.equal(body.code, 'code_invalid');
      }
      const [first] = browsers;
      assert.ok(first);
      const guesses = Array.from({ length: 24 }, (_, index) => String(10_000_000 + index));
      const answers = await Promise.all(
        guesses.map((guess, index) => confirm(first.at(index % 2 ? service.url : twin.url), guess)),
      );
      for (const { body } of answers) assert.equal(body.code, 'code_invalid');
      for (const code of codes) assert.equal((await confirm(first, code)).body.code, 'code_invalid');
      const tries = await service.sql<{ code_tries: number }>(
        'select code_tries from provider_sign_ins where email = $1 order by code_tries desc',
        [email],
      );
      assert.equal(tries[0]?.code_tries, 5);
      assert.equal((await service.sql('select from users where email = $1', [email])).length, 0);
      tally.tried(guesses.length + 6 + 2 * codes.length);
      tally.held(guesses.length + 5 + 2 * codes.length);
    }
  },
);

scenario(
  'a request for a code tells nothing of an address: one answer for accounts that are verified, not verified, off, a superuser, and for none',
  async (tally) => {
    const addresses = [
      (await addPerson(service)).email,
      (await addPerson(service, { verified: false })).email,
      (await addPerson(service, { active: false })).email,
      (await addPerson(service, { superuser: true })).email,
      newEmail('nobody'),
    ];
    const answers = new Set<string>();
    for (const [index, email] of addresses.entries()) {
      // Beyond the limit of the address, too. Each time by another person, who has a limit, too.
      for (let time = 0; time < 5; time += 1) {
        const browser = browserAt(index);
        await signInThere(browser, open, { email: 'me@evil.example' });
        const asked = await ask(browser, email);
        const guessed = await confirm(browser, '00000000');
        const pending = await pendingOf(browser);
        const shown = [asked, guessed].map(({ status, text, headers }) => {
          const names = [...headers.keys()].filter((name) => !name.startsWith('ratelimit')).sort();
          return `${status} ${text.replace(/"request_id":"[^"]*"/, '').replace(/\d{4}-\d\d-\d\dT[^"]*/g, '')} ${names}`;
        });
        answers.add(JSON.stringify([shown, pending]));
        tally.tried();
      }
    }
    assert.equal(answers.size, 1, [...answers].join('\n'));
    tally.held(addresses.length * 5);
    // A code that is right is needed before an account says that it is off.
    const verified = await addPerson(service);
    const owner = await signIn(service, verified);
    assert.equal((await owner.get('/api/v1/users/me/identities')).body.data.identities.length, 0);
    tally.held();
  },
);
