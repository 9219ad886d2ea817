// Calls other services of the same product as the person at the browser.

import { abortable } from '../calls/waiting.ts';
import { type Environment, pageAddress } from '../environment.ts';
import type { Refreshed, Session } from './session.ts';
import { challengeOf, type StepUps } from './step-ups.ts';

/** Like the global `fetch`, for an address below one of the service's origins. */
export type ServiceFetch = (address: string | URL, init?: RequestInit) => Promise<Response>;

/** Returns the origins without what is not part of them. Throws a TypeError if one is no HTTP URL. */
export const readOrigins = (services: readonly string[]): string[] =>
  services.map((service) => {
    const { origin, protocol } = new URL(service);
    if (!/^https?:$/.test(protocol)) throw new TypeError(`${service} is no http or https URL.`);
    return origin;
  });

/**
 * Returns a `fetch` that sends the access token. If the response is 401, it sends the request once more: after a step-up where
 * the service asks for one (RFC 9470), otherwise with a new token. The token is sent to the origin of the page and to `origins`
 * only, and no redirect is followed. Rejects with `session_changed` if another user signs in before the response arrives.
 */
export function createServiceFetch(
  { fetch }: Pick<Environment, 'fetch'>,
  { session, stepUps }: { session: Session; stepUps: StepUps },
  origins: readonly string[],
): ServiceFetch {
  return async (address, init) => {
    if (address instanceof Request)
      throw new TypeError('Pass an address, such as request.url, and the init.');
    const page = pageAddress();
    const url = new URL(address, page);
    const { href, origin } = url;
    // A blob has the origin of its page.
    if (!href.startsWith('http') || (origin !== page?.origin && !origins.includes(origin)))
      throw new TypeError(`The access token is not sent to ${origin}. Name it in services.`);
    const request = new Request(url, { ...init, redirect: 'error' });
    const { signal } = request;

    const send = (token: string | null): Promise<Response> => {
      const copy = request.clone();
      if (token !== null) copy.headers.set('authorization', `Bearer ${token}`);
      return abortable(fetch(copy), signal);
    };

    if (session.token === null && session.isPossible) await abortable(session.refresh(new Set()), signal);
    const { token, subject } = session;
    /** Drops a response for one user that arrives when another has signed in. */
    const forSubject = async (response: Response): Promise<Response> => {
      try {
        session.checkSubject(subject);
        return response;
      } catch (error) {
        await response.body?.cancel();
        throw error;
      }
    };

    const tried = new Set<string>();
    for (let used = token; ; used = session.token) {
      const sent = stepUps.settled();
      const response = await forSubject(await send(used));
      if (response.status !== 401 || used === null) return response;
      const requirement = challengeOf(response.headers);
      const way = requirement ? 'step-up' : 'refresh';
      if (tried.has(way)) return response;
      tried.add(way);
      // A new token of the same proof would not meet a requirement.
      const renewed = requirement ? stepUps.isProved(requirement, sent) : session.refresh(new Set([used]));
      const outcome = await abortable<Refreshed | boolean>(renewed, signal);
      if (!outcome || outcome === 'ended') return response;
      await response.body?.cancel();
      session.checkSubject(subject);
    }
  };
}
