// Signing in with GitHub: plain OAuth without an ID token. Who somebody is comes from its API.
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import { OutboundError } from '../../../platform/outbound/request.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import { type Assertion, UpstreamError } from './assertion.ts';
import { namesIn, textIn } from './said.ts';

/** The issuer of identities. */
const ISSUER = 'https://github.com';
const API = 'https://api.github.com/user';
const API_VERSION = '2022-11-28';
/** Forwards nothing. */
const NO_REPLY = /@users\.noreply\.github\.com$/i;

/** The issuer is what GitHub sends as the parameter `iss` (RFC 9207). It does not announce that, and older answers have none. */
export const gitHub: ServerMetadata = {
  issuer: 'https://github.com/login/oauth',
  authorization_endpoint: 'https://github.com/login/oauth/authorize',
  token_endpoint: 'https://github.com/login/oauth/access_token',
};

/** Returns a `fetch` that gives errors of the token endpoint, which GitHub sends with status 200, the status that they should have. */
export const askGitHub =
  (ask: CustomFetch): CustomFetch =>
  async (url, options) => {
    const answer = await ask(url, options);
    if (url !== gitHub.token_endpoint || answer.status !== 200) return answer;
    const body: unknown = await answer
      .clone()
      .json()
      .catch(() => null);
    return isObject(body) && typeof body.error === 'string'
      ? new Response(await answer.text(), { status: 400, headers: answer.headers })
      : answer;
  };

/** Returns whom the access token is of. */
export async function gitHubAssertion(configuration: Configuration, accessToken: string): Promise<Assertion> {
  const { fetchProtectedResource } = await import('openid-client');
  const read = async (path: string, missing: readonly number[] = []): Promise<unknown> => {
    const headers = new Headers({
      accept: 'application/vnd.github+json',
      'x-github-api-version': API_VERSION,
    });
    const answer = await fetchProtectedResource(
      configuration,
      accessToken,
      new URL(`${API}${path}`),
      'GET',
      null,
      headers,
    );
    if (missing.includes(answer.status)) return null;
    if (answer.status !== 200) throw new OutboundError(`status_${answer.status}`);
    return answer.json();
  };
  const user = await read('');
  if (!isObject(user) || !Number.isSafeInteger(user.id))
    throw new UpstreamError('unacceptable', 'no_subject');
  // Without the scope user:email.
  const email = addressIn(await read('/emails', [403, 404]));
  return {
    issuer: ISSUER,
    subject: String(user.id),
    email,
    emailVerified: email !== null,
    emailIsRelay: false,
    ...namesIn(user),
    claims: user,
    acr: null,
    amr: [],
    ageSeconds: null,
    sid: null,
    idToken: null,
  };
}

/** Returns the address that is primary and verified. */
function addressIn(emails: unknown): string | null {
  const all: unknown[] = Array.isArray(emails) ? emails : [];
  const primary = all.filter(isObject).find((one) => one.primary === true && one.verified === true);
  const address = primary ? textIn(primary, 'email') : null;
  return address === null || NO_REPLY.test(address) ? null : address;
}
