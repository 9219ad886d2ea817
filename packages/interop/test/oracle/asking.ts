// Sends a token request to a provider and says of which class the answer is.
// It must not compare providers.
import { randomBytes } from 'node:crypto';
import { watch } from '@castellan/testing/secret-watch';
import type { Answer } from '../providers/browser.ts';
import { type Application, CALLBACK, newBrowser, type Provider, walk } from '../providers/provider.ts';
import { type Blanks, challengeOf, filled, newVerifier, type TokenCase } from './cases.ts';

/** `ask` resolves with the class of each answer. */
type Asked = { ask(one: TokenCase): Promise<string[]>; readonly requests: number };

type Endpoints = { authorization_endpoint: string; token_endpoint: string };

/** Signs the person in and returns what sends cases. */
export async function askerOf(provider: Provider): Promise<Asked> {
  const browser = newBrowser(provider);
  const nobody = newBrowser(provider);
  let requests = 0;
  const count = <T>(answer: Promise<T>): Promise<T> => {
    requests += 1;
    return answer;
  };
  const { body: endpoints }: { body: Endpoints } = await nobody.request(
    'GET',
    '/.well-known/openid-configuration',
  );
  const verifier = newVerifier();
  const challenge = challengeOf(verifier);
  const blanks: Blanks = {
    '{callback}': CALLBACK,
    '{verifier}': verifier,
  };
  const request = {
    client_id: provider.application.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid email',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  /** Returns a code that has not been used. Refresh tokens need the person's consent at the library. */
  const newCode = async (isOffline = false): Promise<string> => {
    const offline = isOffline ? { scope: 'openid email offline_access', prompt: 'consent' } : {};
    const address = `${endpoints.authorization_endpoint}?${new URLSearchParams({ ...request, ...offline })}`;
    const arrival = await count(walk(provider, browser, address));
    const code = arrival.kind === 'application' ? arrival.params.get('code') : null;
    if (!code) throw new Error(`no code: ${JSON.stringify(arrival)}`);
    watch.note(code, 'code');
    return code;
  };
  await newCode();

  const tokenRequest = (form: URLSearchParams, credentials: TokenCase['credentials']): Promise<Answer> => {
    const sent = new URLSearchParams(form);
    const headers: Record<string, string> = {
      'content-type': 'application/x-www-form-urlencoded',
      // Wrong secrets are limited by network.
      'x-forwarded-for': `10.${[...randomBytes(3)].join('.')}`,
    };
    const { application, other } = provider;
    const basic = ({ client_id, client_secret }: Application) =>
      `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
    const wrong = { ...application, client_secret: 'wrong' };
    if (credentials === 'right' || credentials === 'twice') headers.authorization = basic(application);
    if (credentials === 'wrong secret') headers.authorization = basic(wrong);
    if (credentials === 'other application' || credentials === 'twice') {
      const { client_id, client_secret } = credentials === 'twice' ? application : other;
      sent.append('client_id', client_id);
      sent.append('client_secret', client_secret);
    }
    const { pathname } = new URL(endpoints.token_endpoint);
    return count(nobody.request('POST', pathname, { raw: String(sent), headers }));
  };

  const exchange = async (one: TokenCase): Promise<string[]> => {
    const code = await newCode(one.grant === 'refresh_token');
    let refreshToken = '';
    if (one.grant === 'refresh_token') {
      const form = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      };
      const { body } = await tokenRequest(new URLSearchParams(form), 'right');
      refreshToken = body.refresh_token;
    }
    if (one.isLate) await provider.ageCodes(61);
    const form = new URLSearchParams(
      filled(one.entries, { ...blanks, '{code}': code, '{refresh_token}': refreshToken }),
    );
    const send = async () => tokenClassOf(await tokenRequest(form, one.credentials));
    const times = Array.from({ length: one.times });
    if (one.isParallel) return (await Promise.all(times.map(send))).sort();
    const classes: string[] = [];
    for (const _ of times) classes.push(await send());
    return classes;
  };

  return {
    ask: exchange,
    get requests() {
      return requests;
    },
  };
}

/** `tokens`, or the status and the error. */
const tokenClassOf = ({ status, body }: Answer): string =>
  status === 200 ? 'tokens' : `${status} ${body?.error ?? 'nothing'}`;
