// Addresses of signing in with a provider: what the page of a provider is about, and where people go on from it.
import { addressOf } from '../../common/page-settings.ts';
import { mayHaveSession } from '../client.ts';
import { interactionId, onwardAddress } from '../interaction/address.ts';
import { pathAfterSignIn } from '../next.ts';

const parameter = (name: string): string => new URLSearchParams(location.search).get(name) ?? '';

/** What became of the sign-in at the provider, as the service says it in the address. */
const results = ['signed_in', 'connected', 'failed', 'pending'] as const;
/** Null in an address that people have typed or cut off. */
export const resultIn = (): (typeof results)[number] | null =>
  results.find((one) => one === parameter('result')) ?? null;

export const failureIn = (): string => parameter('kind');

/** The number of the request that failed; null for a text that is none. */
export const requestIn = (): string | null => /^[\w-]{1,64}$/.exec(parameter('request'))?.[0] ?? null;

/** The slug of the provider of a sign-in that failed. The author of a link chooses it, so it names nothing by itself. */
export const providerIn = (): string => parameter('provider');

/** The path that the person wanted; null without one, or if it leads to another site. */
function wanted(): string | null {
  const path = pathAfterSignIn(location.search, location.origin, '');
  return path === '' ? null : path;
}

/** Whether the person was connecting a provider in their account: they are signed in. */
export const isConnecting = (): boolean =>
  mayHaveSession() && (wanted()?.startsWith(addressOf('/account')) ?? false);

/** Where people go once they are signed in. */
export const onward = (): string =>
  interactionId() === null ? (wanted() ?? addressOf('/overview')) : onwardAddress('/api/v1/oauth/authorize');

const withNext = (path: string, next: string): string =>
  `${addressOf(path)}?next=${encodeURIComponent(next)}`;

/** The sign-in page, which goes on to what the person wanted. */
export function signInAddress(): string {
  const next = wanted();
  return interactionId() !== null || next === null ? onwardAddress('/login') : withNext('/login', next);
}

/** The sign-in page, which comes back to this page. */
export const signInAndBack = (): string => withNext('/login', `${location.pathname}${location.search}`);
