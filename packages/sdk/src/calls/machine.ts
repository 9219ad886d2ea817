// Sends calls with the credential of a service account. It must not send cookies or refresh anything.

import type { Environment } from '../environment.ts';
import type { Call } from './call.ts';
import { budgetOf, type Send, type Settings, send } from './transport.ts';
import { withTimeout } from './waiting.ts';

/** A function is called for each request. */
export type Credential = string | (() => string | Promise<string>);

/** Throws a TypeError if the credential cannot be sent in a header. */
export function createMachineSender(
  environment: Environment,
  settings: Settings,
  credential: Credential,
): Send {
  if (typeof credential === 'string') bearer(credential);
  /** The function of the app has as much time as an attempt. */
  const read = async ({ timeoutMs, signal }: Call) =>
    typeof credential === 'string'
      ? credential
      : withTimeout({ timeoutMs, signal, isStream: false }, async () => credential());
  // Some hosts refuse the option because they never send cookies.
  const init: RequestInit = 'credentials' in Request.prototype ? { credentials: 'omit' } : {};
  return async (call: Call) => {
    const headers = new Headers(call.headers);
    if (!call.isAuthenticated) headers.set('authorization', bearer(await read(call)));
    return send(environment, { ...call, headers }, budgetOf(settings), init);
  };
}

/** Does not quote the token in its error. */
function bearer(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('The API key or access token must be visible ASCII.');
  return `Bearer ${token}`;
}
