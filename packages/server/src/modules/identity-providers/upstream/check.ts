// Tries a provider for an administrator, and says what is wrong in sentences. It signs nobody in.
import type { ProviderTest } from '@castellan/contract/identity-providers';
import type { Clock } from '../../../platform/clock.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import { UpstreamError, type UpstreamProvider } from './assertion.ts';
import { upstreamErrorOf } from './failures.ts';
import { algorithms } from './logout-token.ts';
import { CLOCK_SECONDS, documentOf, isIssuerOf } from './metadata.ts';
import type { Upstreams } from './upstreams.ts';

type Check = ProviderTest['checks'][number];
type Document = Readonly<Record<string, unknown>>;
type Answer = { body: unknown; date: string | null };

/** How much of a foreign text is shown. */
const SHOWN_CHARACTERS = 200;
const GITHUB_API = 'https://api.github.com/';

/** Reads what the provider publishes, now. It never rejects. */
export async function checkProvider(
  { upstreams, clock }: { upstreams: Upstreams; clock: Clock },
  provider: UpstreamProvider,
): Promise<ProviderTest> {
  const secret = secretCheck(upstreams, provider);
  const address = documentOf(provider);
  let answer: Answer;
  try {
    answer = await get(upstreams, address ?? GITHUB_API);
    // What is kept is replaced, too.
    if (secret.ok && address !== null) await upstreams.read(provider).catch(() => undefined);
  } catch (error) {
    return resultOf(null, [secret, unreadable('metadata', error)]);
  }
  const clocks = clockCheck(answer.date, clock);
  if (address === null)
    return resultOf(provider.issuer, [secret, check('metadata', true, 'GitHub answers.'), clocks]);
  const { body: document } = answer;
  if (!isObject(document))
    return resultOf(null, [secret, check('metadata', false, 'The metadata is not a JSON object.')]);
  const told = typeof document.issuer === 'string' ? document.issuer : null;
  return resultOf(told?.slice(0, SHOWN_CHARACTERS) ?? null, [
    secret,
    check('metadata', true, 'The metadata can be read.'),
    issuerCheck(provider, document),
    endpointsCheck(provider, document),
    codeCheck(document),
    pkceCheck(document),
    algorithmsCheck(document),
    authenticationCheck(provider, document),
    requestsCheck(document),
    await keysCheck(upstreams, document),
    clocks,
  ]);
}

const check = (name: string, ok: boolean, text: string): Check => ({ name, ok, text });

const resultOf = (issuer: string | null, checks: Check[]): ProviderTest => ({
  ok: checks.every(({ ok }) => ok),
  issuer,
  checks,
});

async function get({ ask }: Upstreams, url: string): Promise<Answer> {
  const answer = await ask(url, {
    method: 'GET',
    headers: { accept: 'application/json' },
    redirect: 'manual',
    body: undefined,
  });
  if (answer.status !== 200) throw new UpstreamError('unacceptable', `status_${answer.status}`);
  return { body: await answer.json(), date: answer.headers.get('date') };
}

const reasons: Readonly<Record<string, string>> = {
  timeout: 'It did not answer within 5 seconds.',
  too_large: 'The answer is larger than 1 MiB.',
  address_refused: 'Castellan does not connect to this address: it is link-local, or in OUTBOUND_DENY.',
  not_https: 'The address must begin with https://.',
  ENOTFOUND: 'The name of the host does not exist.',
  ECONNREFUSED: 'The host refuses the connection.',
  SyntaxError: 'The answer is not JSON.',
};

function unreadable(name: string, error: unknown): Check {
  const { code } = upstreamErrorOf(error);
  return check(name, false, `It cannot be read. ${reasons[code] ?? `The reason is ${code}.`}`);
}

function secretCheck({ openSecret }: Upstreams, provider: UpstreamProvider): Check {
  if (provider.client_auth === 'none') return check('secret', true, 'No client secret is needed.');
  const secret = openSecret(provider);
  if (secret === undefined)
    return check('secret', false, 'The secret was sealed with another SECRET_KEY. Set it again.');
  return secret
    ? check('secret', true, 'There is a secret. Whether the provider accepts it shows at the first sign-in.')
    : check('secret', false, 'There is no secret. Set one.');
}

function issuerCheck(provider: UpstreamProvider, { issuer }: Document): Check {
  if (isIssuerOf(provider, issuer)) return check('issuer', true, 'The issuer is the one in the record.');
  const told = typeof issuer === 'string' ? `"${issuer.slice(0, SHOWN_CHARACTERS)}"` : 'missing';
  return check(
    'issuer',
    false,
    `The issuer is "${provider.issuer}" in the record, and ${told} in the metadata.`,
  );
}

const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];

function endpointsCheck({ issuer }: UpstreamProvider, document: Document): Check {
  const missing = endpoints.filter((name) => typeof document[name] !== 'string');
  if (missing.length > 0) return check('https', false, `The metadata does not have ${missing.join(', ')}.`);
  const plain = [...endpoints, 'userinfo_endpoint', 'end_session_endpoint'].filter((name) => {
    const address = document[name];
    return typeof address === 'string' && !/^https:\/\//i.test(address);
  });
  // Such an issuer is on this machine.
  if (plain.length === 0 || issuer.startsWith('http:'))
    return check('https', true, 'All addresses that are needed are there.');
  return check('https', false, `These addresses do not begin with https://: ${plain.join(', ')}.`);
}

/** Returns the texts of a list; null if there is none. */
function listIn(document: Document, name: string): string[] | null {
  const list = document[name];
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : null;
}

function codeCheck(document: Document): Check {
  const types = listIn(document, 'response_types_supported');
  return types === null || types.includes('code')
    ? check('code', true, 'The authorization code flow is supported.')
    : check('code', false, 'The authorization code flow is not supported.');
}

function pkceCheck(document: Document): Check {
  const methods = listIn(document, 'code_challenge_methods_supported');
  if (methods === null)
    return check(
      'pkce',
      true,
      'PKCE is not announced. Castellan uses it all the same; the provider may ignore it.',
    );
  return methods.includes('S256')
    ? check('pkce', true, 'PKCE with S256 is supported.')
    : check('pkce', false, 'PKCE with S256 is not supported.');
}

function algorithmsCheck(document: Document): Check {
  const offered = listIn(document, 'id_token_signing_alg_values_supported') ?? ['RS256'];
  const accepted = offered.filter((one) => algorithms.includes(one));
  return accepted.length > 0
    ? check('algorithms', true, `ID tokens may be signed with ${accepted.join(', ')}.`)
    : check(
        'algorithms',
        false,
        'ID tokens are signed with no algorithm that Castellan accepts, such as RS256.',
      );
}

function authenticationCheck({ client_auth: method, kind }: UpstreamProvider, document: Document): Check {
  const offered = listIn(document, 'token_endpoint_auth_methods_supported') ?? ['client_secret_basic'];
  // Apple takes what its key signs as a client secret.
  const ofKey = kind === 'apple' ? 'client_secret_post' : 'private_key_jwt';
  const needed = method === 'private_key' ? ofKey : method;
  return offered.includes(needed)
    ? check('client_auth', true, 'The provider accepts how Castellan authenticates itself.')
    : check('client_auth', false, `The provider does not announce ${needed} as a way to authenticate.`);
}

function requestsCheck(document: Document): Check {
  const needed = [
    ['require_pushed_authorization_requests', 'pushed authorization requests'],
    ['require_signed_request_object', 'signed request objects'],
  ].find(([name = '']) => document[name] === true);
  return needed
    ? check('requests', false, `The provider demands ${needed[1]}, which Castellan does not send.`)
    : check('requests', true, 'Ordinary authorization requests are accepted.');
}

async function keysCheck(upstreams: Upstreams, { jwks_uri: address }: Document): Promise<Check> {
  if (typeof address !== 'string') return check('keys', false, 'The metadata names no key set.');
  try {
    const { body } = await get(upstreams, address);
    const keys: unknown[] = isObject(body) && Array.isArray(body.keys) ? body.keys : [];
    const usable = keys.filter(
      (key) =>
        isObject(key) && ['RSA', 'EC', 'OKP'].includes(String(key.kty)) && (key.use ?? 'sig') === 'sig',
    );
    return usable.length > 0
      ? check('keys', true, `The key set can be read. It has ${usable.length} keys for signatures.`)
      : check('keys', false, 'The key set has no key for signatures.');
  } catch (error) {
    return unreadable('keys', error);
  }
}

function clockCheck(date: string | null, clock: Clock): Check {
  const told = Date.parse(date ?? '');
  if (Number.isNaN(told)) return check('clock', true, 'The provider does not tell its time.');
  const seconds = Math.round((told - clock.now()) / 1_000);
  const way = seconds < 0 ? 'behind' : 'ahead';
  return Math.abs(seconds) <= CLOCK_SECONDS
    ? check('clock', true, `The clocks differ by ${Math.abs(seconds)} seconds.`)
    : check(
        'clock',
        false,
        `The clock of the provider is ${Math.abs(seconds)} seconds ${way}. At most 300 are accepted.`,
      );
}
