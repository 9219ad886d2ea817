// What the answer to a sign-in says about a second factor that will be required, for the pages that are opened after it.
import { readPreference, writeBrowserPreference, writePreference } from './preferences.ts';

export type SecondFactorNotice = {
  /** ISO 8601, UTC. From then on, the service refuses other requests until one is set up. */
  enforced_from: string;
};

const NAME = 'secondFactor';

/** Sign-ins of any kind, but not their options. */
const SIGN_IN = /\/api\/v1\/auth\/login(\/second-factor|\/passkey)?$/;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function keepFrom(answer: unknown): void {
  const data = isRecord(answer) && isRecord(answer.data) ? answer.data : {};
  const id = isRecord(data.user) ? data.user.id : null;
  const from = isRecord(data.second_factor) ? data.second_factor.enforced_from : null;
  if (typeof id !== 'string') return;
  writeBrowserPreference(`${id}.${NAME}`, typeof from === 'string' ? from : null);
}

/** Returns a `fetch` that remembers the notice of each sign-in, for the person who signed in. */
export function noticing(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const url = input instanceof Request ? input.url : String(input);
    if (!response.ok || init?.method !== 'POST' || !SIGN_IN.test(url)) return response;
    // Before the page that signs in leads on.
    keepFrom(
      await response
        .clone()
        .json()
        .catch(() => null),
    );
    return response;
  };
}

/** Returns the notice of the signed-in person; null without one. */
export function readNotice(): SecondFactorNotice | null {
  const from = readPreference(NAME);
  return from !== null && !Number.isNaN(Date.parse(from)) ? { enforced_from: from } : null;
}

export const keepNotice = (notice: SecondFactorNotice | null): void =>
  writePreference(NAME, notice?.enforced_from ?? null);
