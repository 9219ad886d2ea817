// What an act of a person on their own account ends of what was issued before: tokens with their proofs, trust, sign-ins that
// wait, recovery codes, set-ups under way and mailed links. users/interventions.test.ts asks the same of administrators.
// Every act must say what becomes of each.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import {
  changeEmail,
  confirmReset,
  linkTo,
  paths,
  resetLink,
} from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, startTestService } from '@castellan/testing/harness';
import {
  beginSecondStep,
  newAuthenticator,
  PASSKEY_URL,
  passkeySignIn,
  passkeyStepUp,
  register,
} from '@castellan/testing/passkeys/own';
import {
  type AppUser,
  addAppUser,
  codeOf,
  completeSignIn,
  enrol,
  forgetStep,
  keepTokens,
} from '@castellan/testing/second-factors/app';
import { passwordAlone, trustedBrowser } from '@castellan/testing/second-factors/devices';
import { requireOfRole } from '@castellan/testing/second-factors/requirements';
import { isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addRole } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL, CONCURRENT_SESSION_LIMIT: '0' });
const NEW_PASSWORD = 'ReplacementPassword!42';
const AUTH = '/api/v1/auth';

type Person = AppUser & {
  /** A passkey beside the app, unless the act is about the only factor. */
  passkey: { id: string; authenticator: ReturnType<typeof newAuthenticator> } | null;
  role: string;
  /** Signed in at another place, with a proof that was raised by a step-up, and with a set-up of an app under way. */
  other: TestClient & { setUp: string };
  trusted: TestClient;
  waiting: { client: TestClient; token: string };
  resetToken: string;
};

type Fate = 'ends' | 'stays';
type Act = {
  run: (person: Person) => Promise<Answer>;
  /** The tokens that the call had. */
  own: Fate;
  /** Those of another session. */
  others: Fate;
  /** Trust in a device. */
  trust: Fate;
  /** A sign-in that waits for its second step. */
  pending: Fate;
  codes: Fate;
  /** A set-up of an app in the other session. */
  setUp: Fate;
  links: Fate;
  passkey?: 'ends';
  /** Whether the account has an app alone. */
  onlyApp?: true;
  /** Whether NEW_PASSWORD is the password afterwards. */
  setsPassword?: true;
  /** Whether there is no password until the mail that the act sent sets NEW_PASSWORD. */
  endsPassword?: true;
  /** What the password comes to on the trusted device where trust has not ended. */
  onTrusted?: string;
};

const nothing = {
  own: 'stays',
  others: 'stays',
  trust: 'stays',
  pending: 'stays',
  codes: 'stays',
  setUp: 'stays',
  links: 'stays',
} as const;
/** Ends with the sessions, whatever it was that ended them. A set-up belongs to its session. */
const withSessions = {
  ...nothing,
  own: 'ends',
  others: 'ends',
  trust: 'ends',
  pending: 'ends',
  setUp: 'ends',
} as const;

const acts: Record<string, Act> = {
  'a changed password': {
    run: (person) => changePassword(person),
    ...withSessions,
    links: 'ends',
    setsPassword: true,
  },
  'a reset password': {
    run: ({ resetToken }) => confirmReset(service.client(), resetToken, NEW_PASSWORD),
    ...withSessions,
    links: 'ends',
    setsPassword: true,
  },
  'a changed address': {
    run: ({ client, id }) => client.put(`/api/v1/users/${id}`, { email: newEmail() }),
    ...withSessions,
    links: 'ends',
  },
  'an address that its owner changes': {
    run: async ({ client, email }) => {
      await changeEmail(service, client, email, newEmail());
      return client.get(paths.me);
    },
    ...withSessions,
    own: 'stays',
    links: 'ends',
  },
  'a change of the address that its owner undoes': {
    run: async ({ client, email }) => {
      const token = await changeEmail(service, client, email, newEmail());
      return service.client().post(paths.undoEmail, { token });
    },
    ...withSessions,
    links: 'ends',
    endsPassword: true,
  },
  'signing out': { run: ({ client }) => client.post(`${AUTH}/logout`), ...nothing, own: 'ends' },
  'signing out everywhere': { run: ({ client }) => client.post(`${AUTH}/logout/all`), ...withSessions },
  'the end of another session': {
    run: ({ client, other }) => client.delete(`${AUTH}/sessions/${sidOf(other)}`),
    ...nothing,
    others: 'ends',
    setUp: 'ends',
  },
  'the removal of one of two factors': {
    run: ({ client }) => client.delete(`${AUTH}/factors/totp`),
    ...withSessions,
  },
  'the removal of the passkey': {
    run: ({ client, passkey }) => client.delete(`${AUTH}/factors/passkeys/${passkey?.id}`),
    ...withSessions,
    passkey: 'ends',
  },
  'the removal of the last factor': {
    run: ({ client }) => client.delete(`${AUTH}/factors/totp`),
    ...withSessions,
    codes: 'ends',
    onlyApp: true,
  },
  'a further passkey': {
    run: async ({ client }) => {
      await register(client, newAuthenticator());
      return client.get(paths.me);
    },
    ...nothing,
  },
  'an app in the place of another': {
    run: async ({ client }) => {
      await enrol(client);
      return client.get(paths.me);
    },
    ...nothing,
    // One set-up at a time.
    setUp: 'ends',
  },
  'new recovery codes': {
    run: ({ client }) => client.post(`${AUTH}/factors/recovery-codes`),
    ...nothing,
    codes: 'ends',
  },
  'a step-up': {
    run: async (person) => {
      await forgetStep(service, person);
      return person.client.post(`${AUTH}/step-up`, { totp: codeOf(person.secret) });
    },
    ...nothing,
  },
  'a passkey with another name': {
    run: ({ client, passkey }) => client.put(`${AUTH}/factors/passkeys/${passkey?.id}`, { name: 'Key' }),
    ...nothing,
  },
  'forgotten devices': {
    run: ({ client }) => client.delete(`${AUTH}/devices`),
    ...nothing,
    trust: 'ends',
  },
  'a changed name': {
    run: ({ client }) => client.put('/api/v1/users/me', { first_name: 'Grace' }),
    ...nothing,
  },
  'a requirement of a role': {
    run: async ({ client, role }) => {
      await requireOfRole(service, role, 'aal2');
      return client.get(paths.me);
    },
    ...nothing,
    onTrusted: 'second_factor_required',
  },
};

const sidOf = ({ accessToken }: TestClient): string => readToken(accessToken ?? '').claims.sid;

const changePassword = ({ client, password }: Person): Promise<Answer> =>
  client.post(paths.changePassword, { current_password: password, new_password: NEW_PASSWORD });

/** Returns an account with everything that can be issued for it, all of it valid. */
async function issueAll({ onlyApp = false }: { onlyApp?: boolean }): Promise<Person> {
  const user = await addAppUser(service);
  const role = await addRole(service, 'self.update_profile', 'users.update', 'user.update');
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role]);
  const authenticator = newAuthenticator();
  const passkey = onlyApp
    ? null
    : { id: (await register(user.client, authenticator)).passkey.id as string, authenticator };
  const trusted = await trustedBrowser(service, user);
  const other = await raisedSession(user, passkey?.authenticator ?? null);
  const client = service.client();
  const { token } = await beginSecondStep(client, user);
  const resetToken = await resetLink(service, user.email);
  return { ...user, passkey, role, other, trusted, waiting: { client, token }, resetToken };
}

async function raisedSession(
  user: AppUser,
  authenticator: ReturnType<typeof newAuthenticator> | null,
): Promise<Person['other']> {
  const client = service.client();
  const { token } = await beginSecondStep(client, user);
  await forgetStep(service, user);
  keepTokens(client, await completeSignIn(client, token, { totp: codeOf(user.secret) }));
  if (authenticator) keepTokens(client, await passkeyStepUp(client, authenticator));
  const begun = await client.post(`${AUTH}/factors/totp`);
  await forgetStep(service, user);
  return Object.assign(client, { setUp: begun.body.data.secret as string });
}

describe('an act of a person on their own account', () => {
  for (const [name, act] of Object.entries(acts))
    test(`${name}: ${fatesOf(act)}`, async () => {
      const person = await issueAll(act);
      const before = { access: person.client.accessToken ?? '', refresh: person.client.refreshToken ?? '' };
      const answer = await act.run(person);
      assert.equal(Math.floor(answer.status / 100), 2, answer.text);
      // Restores what the person types, so that what is refused now was ended by the act.
      await service.sql('update users set email = $2 where id = $1', [person.id, person.email]);
      await assertTokens(before, act.own);
      if (act.endsPassword) await setAgain(person);
      await assertOtherSession(person, act);
      await assertSignIns(person, act);
      const late = await confirmReset(service.client(), person.resetToken, 'Copper+Violin95Moss');
      assert.equal(late.status, act.links === 'ends' ? 400 : 200, late.text);
    });
});

/** By the mail that the act sent. */
async function setAgain({ email }: Person): Promise<void> {
  const earlier = 1;
  const token = await linkTo(service, email, 'password_reset', earlier);
  const answer = await confirmReset(service.client(), token, NEW_PASSWORD);
  assert.equal(answer.status, 200, answer.text);
}

function fatesOf({ own, others, trust, pending, codes, setUp, links }: Act): string {
  const fates = {
    'own tokens': own,
    'other sessions': others,
    trust,
    'sign-ins that wait': pending,
    'recovery codes': codes,
    'set-ups': setUp,
    'mailed links': links,
  };
  const ended = Object.entries(fates).flatMap(([what, fate]) => (fate === 'ends' ? [what] : []));
  return ended.length > 0 ? `ends ${ended.join(', ')}` : 'ends nothing';
}

async function assertTokens({ access, refresh }: { access: string; refresh: string }, fate: Fate) {
  assert.equal(await isAccepted(service, access), fate === 'stays', 'access token');
  assert.equal(await isRefreshable(service, refresh), fate === 'stays', 'refresh token');
}

/** What stays keeps the proof that it had, and its set-up. */
async function assertOtherSession({ other, passkey }: Person, { others, setUp }: Act): Promise<void> {
  await assertTokens({ access: other.accessToken ?? '', refresh: other.refreshToken ?? '' }, others);
  const confirmed = await other.post(`${AUTH}/factors/totp/confirm`, { totp: codeOf(other.setUp) });
  assert.equal(confirmed.status === 200, setUp === 'stays', confirmed.text);
  if (others === 'ends') return;
  const refreshed = await other.post(paths.refresh, { refresh_token: other.refreshToken });
  assert.equal(readToken(refreshed.body.data.access_token).claims.acr, passkey ? 'phr' : 'aal2');
}

async function assertSignIns(person: Person, act: Act): Promise<void> {
  const { waiting, recoveryCodes, trusted, passkey } = person;
  const completed = await completeSignIn(waiting.client, waiting.token, { recovery_code: recoveryCodes[0] });
  const isOpen = act.pending === 'stays';
  const expected = !isOpen ? 'sign_in_expired' : act.codes === 'ends' ? 'second_factor_invalid' : 200;
  assert.equal(completed.status === 200 ? 200 : completed.body.code, expected, completed.text);
  const now = { ...person, password: act.setsPassword || act.endsPassword ? NEW_PASSWORD : person.password };
  const isAsked = act.trust === 'ends' && !act.onlyApp;
  const onTrusted = act.onTrusted ?? (isAsked ? 'second_factor_required' : 200);
  assert.equal(await passwordAlone(trusted, now), onTrusted, 'the trusted device');
  if (act.onlyApp) return;
  if (!isOpen) await assertCodes(now);
  assert.ok(passkey);
  const signedIn = await passkeySignIn(service.client(), passkey.authenticator);
  assert.equal(signedIn.status === 200 ? 200 : signedIn.body.code, act.passkey ? 'passkey_unknown' : 200);
}

/** Where the sign-in that waited has ended, the codes of the account still complete another one. */
async function assertCodes(person: Person): Promise<void> {
  const client = service.client();
  const { token, methods } = await beginSecondStep(client, person);
  assert.equal(methods.at(-1), 'recovery_code');
  const answer = await completeSignIn(client, token, { recovery_code: person.recoveryCodes[1] });
  assert.equal(answer.status, 200, answer.text);
}
