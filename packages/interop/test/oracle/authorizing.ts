// Sends an authorization request to a provider, as a browser does, and says of which class the answer is.
// It must not answer a page: what it asks is the class.
import { createBrowser } from '../providers/browser.ts';
import { CALLBACK, newBrowser, type Provider, walk } from '../providers/provider.ts';
import { type AuthorizationCase, type Blanks, challengeOf, filled, newVerifier } from './cases.ts';

/** `ask` resolves with the class of each answer. */
type Asked = { ask(one: AuthorizationCase): Promise<string[]>; readonly requests: number };

/** Signs the person in and returns what sends cases. */
export async function authorizerOf(provider: Provider): Promise<Asked> {
  const nobody = newBrowser(provider);
  const signedIn = newBrowser(provider);
  const { body: discovery } = await nobody.request('GET', '/.well-known/openid-configuration');
  const { pathname } = new URL(discovery.authorization_endpoint);
  const challenge = challengeOf(newVerifier());
  const blanks: Blanks = {
    '{application}': provider.application.client_id,
    '{other}': provider.other.client_id,
    '{browser_app}': provider.browserApp.client_id,
    '{callback}': CALLBACK,
    '{challenge}': challenge,
  };
  const first = new URLSearchParams({
    client_id: provider.application.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const arrival = await walk(provider, signedIn, `${pathname}?${first}`);
  if (arrival.kind !== 'application') throw new Error(`nobody is signed in: ${JSON.stringify(arrival)}`);
  let requests = 0;

  async function classOf(one: AuthorizationCase, cookies: Map<string, string>): Promise<string> {
    requests += 1;
    const browser = createBrowser(new URL(provider.issuer).origin, cookies);
    const form = new URLSearchParams(filled(one.entries, blanks));
    const state = form.get('state') ?? '';
    const arrived = (params: URLSearchParams, address: string): string => {
      const said = params.get('error') ?? (params.has('code') ? 'code' : 'nothing');
      const isEchoed = (params.get('state') ?? '') === state;
      return [
        said,
        ...(address.split(/[?#]/)[0] === CALLBACK ? [] : [`at ${address}`]),
        ...(isEchoed ? [] : ['with another state']),
        ...(params.get('iss') === provider.issuer ? [] : ['without iss']),
      ].join(' ');
    };
    let answer = one.isPost
      ? await browser.request('POST', pathname, {
          raw: String(form),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
      : await browser.request('GET', `${pathname}?${form}`);
    for (let step = 0; step < 5; step += 1) {
      const location = answer.headers.get('location');
      if (location === null) break;
      const at = new URL(location, provider.issuer);
      if (at.origin !== new URL(provider.issuer).origin) {
        const isFragment = at.hash !== '';
        const params = isFragment ? new URLSearchParams(at.hash.slice(1)) : at.searchParams;
        return `${arrived(params, at.href)}${isFragment ? ' in a fragment' : ''}`;
      }
      const interaction = at.searchParams.get('interaction');
      if (interaction !== null && at.pathname !== pathname) {
        const { body } = await browser.request('GET', `/api/v1/oauth/interactions/${interaction}`);
        return `asks ${questions[body.data.step] ?? body.data.step}`;
      }
      answer = await browser.request('GET', `${at.pathname}${at.search}`);
    }
    const { status, text } = answer;
    const [, prompt] = /^asks: (\w+)$/.exec(text) ?? [];
    if (prompt !== undefined) return `asks ${questions[prompt] ?? prompt}`;
    const [, action] = /<form [^>]*action="([^"]+)"/.exec(text) ?? [];
    if (action !== undefined) return `${arrived(fieldsIn(text), action)} in a form`;
    return `page ${status}`;
  }

  return {
    async ask(one) {
      // A copy for each case: none of them signs the person out of another one.
      const cookies = new Map((one.isSignedIn ? signedIn : nobody).cookies);
      const times = Array.from({ length: one.times });
      return (await Promise.all(times.map(() => classOf(one, cookies)))).sort();
    },
    get requests() {
      return requests;
    },
  };
}

/** By the steps of Castellan and the prompts of the library. */
const questions: Record<string, string> = { login: 'sign_in', reauthenticate: 'sign_in' };

const references: Record<string, string> = { quot: '"', amp: '&', lt: '<', gt: '>' };
const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
    code === undefined ? (references[name] ?? whole) : String.fromCharCode(Number(code)),
  );

/** Returns the hidden fields of a page. */
function fieldsIn(text: string): URLSearchParams {
  const fields = new URLSearchParams();
  for (const [, name = '', value = ''] of text.matchAll(/name="([^"]*)" value="([^"]*)"/g))
    fields.append(unescaped(name), unescaped(value));
  return fields;
}
