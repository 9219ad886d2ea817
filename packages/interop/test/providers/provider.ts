// What a suite needs of a provider, whoever wrote it: addresses, applications, and a person who answers its pages.
// It must not know what a provider answers.
import { type Browser, createBrowser } from './browser.ts';

/** An application that is registered at a provider. */
export type Application = { client_id: string; client_secret: string };

/** What a page asked of the person. */
export type Asked = 'sign_in' | 'reauthenticate' | 'step_up' | 'select_account' | 'consent' | 'sign_out';

/** Where the person's browser goes next, and with which form. */
type Next = { address: string; form?: Record<string, string> };

/** How the applications of a suite are registered. */
export type Registration = {
  /** Where `application` is told about sign-outs. */
  backchannelUrl?: string;
  /** Addresses beside CALLBACK and SIGNED_OUT. */
  callbacks?: readonly string[];
  signedOut?: readonly string[];
  /** The origin of `browserApp`, which calls the provider across origins. */
  origin?: string;
};

export type Provider = {
  name: 'Castellan' | 'oidc-provider';
  issuer: string;
  /** Has CALLBACK and SIGNED_OUT, may do without PKCE, and is told about sign-outs at `backchannelUrl`. */
  application: Application;
  /** Another application with the same addresses. */
  other: Application;
  /** An application in a browser, without a secret. Needs PKCE. */
  browserApp: { client_id: string };
  /** The email of the person. */
  email: string;
  /** Answers the page at `address` as the person. Resolves with null if it asks nothing. */
  answer(browser: Browser, page: { address: string; text: string }, asked: Asked[]): Promise<Next | null>;
  /** Lets authorization codes and what they gave grow older by so many seconds. */
  ageCodes(seconds: number): Promise<void>;
};

/** Addresses of the applications. No suite sends anything there. */
export const CALLBACK = 'https://app.example.com/callback';
export const SIGNED_OUT = 'https://app.example.com/signed-out';

/** A browser without cookies. */
export const newBrowser = (provider: Provider): Browser => createBrowser(new URL(provider.issuer).origin);

/** Where a request has led: to an address of the application, or to a page of the provider that asks nothing. */
export type Arrival =
  | { kind: 'application'; address: string; params: URLSearchParams; asked: Asked[] }
  | { kind: 'page'; status: number; text: string; asked: Asked[] };

const MOST_STEPS = 20;

/**
 * Opens the address, by POST with a form, and follows redirects and pages as the person's browser does. `others` has the browser for
 * the origins of applications that run; their pages end the walk.
 */
export async function walk(
  provider: Provider,
  browser: Browser,
  address: string,
  form?: Record<string, string>,
  others: Readonly<Record<string, Browser>> = {},
): Promise<Arrival> {
  const asked: Asked[] = [];
  let next: Next | null = form ? { address, form } : { address };
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const at: URL = new URL(next.address, provider.issuer);
    const isHere = at.origin === new URL(provider.issuer).origin;
    const visitor = isHere ? browser : others[at.origin];
    if (!visitor) return { kind: 'application', address: at.href, params: at.searchParams, asked };
    const answer = await send(visitor, `${at.pathname}${at.search}`, next.form);
    const location = answer.headers.get('location');
    if (location !== null) {
      next = { address: new URL(location, at).href };
      continue;
    }
    next = isHere ? await provider.answer(browser, { address: at.href, text: answer.text }, asked) : null;
    if (next === null) return { kind: 'page', status: answer.status, text: answer.text, asked };
  }
  throw new Error(`${MOST_STEPS} steps led from ${address} to no end`);
}

/** Sends what a browser sends: it accepts pages, and posts forms without a CSRF token. */
const send = (browser: Browser, path: string, form?: Record<string, string>) =>
  browser.request(form ? 'POST' : 'GET', path, {
    headers: {
      accept: 'text/html',
      ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    },
    ...(form ? { raw: new URLSearchParams(form).toString() } : {}),
  });
