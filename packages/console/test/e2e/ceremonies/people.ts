// People with passkeys at PASSKEY_ORIGIN, in a real browser with the authenticator that Chromium emulates.
import { type Authenticator, plugIn } from '@castellan/testing/e2e/authenticator';
import { PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { createVerifiedUser, type Hooks } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { type Console, openAs } from '../../harness.ts';

export type Person = { id: string; email: string; password: string };
export type Visitor = { person: Person; page: Page; authenticator: Authenticator };
export type PasskeyVisitor = Visitor & { recoveryCodes: string[] };

type Kind = NonNullable<Parameters<typeof plugIn>[1]>;
type Place = { kind?: Kind; expected?: string[]; baseURL?: string };

/** Opens a page as a new person, whose tab has an authenticator. */
export async function arrive(
  t: Hooks,
  site: Console,
  path: string,
  { kind = 'device', expected = [], baseURL = PASSKEY_ORIGIN }: Place = {},
): Promise<Visitor> {
  const person = await createVerifiedUser(site.service);
  const { page } = await openAs(t, site, path, { as: person, expected, context: { baseURL } });
  return { person, page, authenticator: await plugIn(page, kind) };
}

/** Leaves a small page of the service open for a person who has added a passkey, or a security key, and is signed out. */
export async function arriveWithPasskey(t: Hooks, site: Console, place: Place = {}): Promise<PasskeyVisitor> {
  const visitor = await arrive(t, site, '/docs/errors', place);
  const kind = place.kind === 'key' ? 'security_key' : 'passkey';
  const recoveryCodes = await visitor.page.evaluate(addPasskey, { ...visitor.person, kind });
  await signOut(visitor);
  return { ...visitor, recoveryCodes };
}

export async function signOut({ page }: Visitor): Promise<void> {
  await page.goto('/docs/errors');
  await page.context().clearCookies();
  await page.evaluate('localStorage.clear()');
}

/** Runs in the page: what a page of somebody else's would do, with what browsers have for it. */
async function addPasskey(person: { email: string; password: string; kind: string }): Promise<string[]> {
  const { email, password, kind } = person;
  const csrf = await (await fetch('/api/v1/auth/csrf-token')).json();
  const post = async (path: string, body: object, authorization = '') => {
    const answer = await fetch(`/api/v1/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': csrf.data.csrf_token, authorization },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).data;
  };
  const bearer = `Bearer ${(await post('login', { email, password })).access_token}`;
  const options = (await post('factors/passkeys/options', { kind }, bearer)).passkey;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const passkey = await navigator.credentials.create({ publicKey });
  return (await post('factors/passkeys', { kind, passkey }, bearer)).recovery_codes;
}
