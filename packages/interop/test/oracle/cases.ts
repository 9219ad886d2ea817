// Random authorization and token requests, the same for every provider: valid ones with parameters missing, doubled, wrong, late, or
// of another application. It must not know what a provider answers.
import { createHash, randomBytes } from 'node:crypto';

export const newVerifier = (): string => randomBytes(32).toString('base64url');
export const challengeOf = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url');

/** Numbers in [0, 1) that depend on the seed alone (mulberry32, of Tommy Ettinger). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Entry = [name: string, value: string];

/** Values that a provider fills in: the callback, a code, a refresh token, the verifier, the applications. */
export type Blanks = Record<`{${string}}`, string>;

/** How a token request says who sends it. */
type Credentials = 'right' | 'wrong secret' | 'none' | 'other application' | 'twice';

export type TokenCase = {
  grant: 'authorization_code' | 'refresh_token';
  entries: Entry[];
  credentials: Credentials;
  /** The code has expired. */
  isLate: boolean;
  /** How often it is sent, one after the other or at once. */
  times: number;
  isParallel: boolean;
};

const token: Record<TokenCase['grant'], readonly Entry[]> = {
  authorization_code: [
    ['grant_type', 'authorization_code'],
    ['code', '{code}'],
    ['redirect_uri', '{callback}'],
    ['code_verifier', '{verifier}'],
  ],
  refresh_token: [
    ['grant_type', 'refresh_token'],
    ['refresh_token', '{refresh_token}'],
  ],
};

export type AuthorizationCase = {
  entries: Entry[];
  isPost: boolean;
  /** The browser has a session. */
  isSignedIn: boolean;
  /** How often it is sent at once. */
  times: number;
};

const authorization: readonly Entry[] = [
  ['client_id', '{application}'],
  ['redirect_uri', '{callback}'],
  ['response_type', 'code'],
  ['scope', 'openid email'],
  ['state', 'state of the application'],
  ['nonce', 'nonce of the application'],
  ['code_challenge', '{challenge}'],
  ['code_challenge_method', 'S256'],
];

/** Parameters that a request need not have, with right and wrong values. */
const further: Record<string, readonly string[]> = {
  prompt: ['none', 'none', 'login', 'consent', 'login consent', 'none login', 'nonsense', ''],
  max_age: ['0', '3600', '-1', '1.5', 'soon', ''],
  response_mode: ['query', 'form_post', 'form_post', 'fragment', 'nonsense', ''],
  request: ['eyJhbGciOiJub25lIn0.e30.', ''],
  request_uri: ['https://app.example.com/request', 'urn:ietf:params:oauth:request_uri:unknown', ''],
  claims: ['{"id_token":{"email":null}}', '{', '[]', '{"userinfo":{"email":{"essential":true}}}', ''],
  id_token_hint: ['nonsense', ''],
  login_hint: ['grace@example.com'],
  ui_locales: ['de en'],
  display: ['popup'],
  unknown: ['value'],
};

/** Values that are wrong, unusual or of somebody else, by parameter. */
const others: Record<string, readonly string[]> = {
  client_id: ['{other}', '{browser_app}', 'unknown', '{callback}', ''],
  response_type: ['token', 'id_token', 'code id_token', 'none', 'nonsense', ''],
  scope: ['openid', 'email', 'openid unknown', 'unknown', 'openid offline_access', ''],
  state: ['line\r\nend "quoted" ✓', 's'.repeat(1_000), ''],
  nonce: ['n'.repeat(1_000), ''],
  code_challenge: ['short', 'c'.repeat(44), ''],
  code_challenge_method: ['plain', 'S512', ''],
  redirect_uri: ['{callback}/', '{callback}?a=b', 'https://evil.example/callback', 'not an address', ''],
  grant_type: ['refresh_token', 'authorization_code', 'password', 'implicit', ''],
  code: ['nonsense', '{refresh_token}', ''],
  code_verifier: ['v'.repeat(43), 'short', ''],
  refresh_token: ['nonsense', '{code}', ''],
};

type Pick = <T>(values: readonly T[]) => T;
const pickBy =
  (random: () => number): Pick =>
  <T>(values: readonly T[]) =>
    values[Math.floor(random() * values.length)] as T;

/** Changes none, one or two of the entries. A third of the requests is valid or nearly so. */
function changed(valid: readonly Entry[], pick: Pick): Entry[] {
  let entries = [...valid];
  const changes = pick([0, 1, 1, 1, 2, 2]);
  for (let count = 0; count < changes; count += 1) {
    const way = pick(['missing', 'doubled', 'other', 'other']);
    const [name, value] = pick(entries.length > 0 ? entries : valid);
    if (way === 'missing') entries = entries.filter(([one]) => one !== name);
    if (way === 'doubled') entries.push([name, pick([value, ...(others[name] ?? [])])]);
    if (way === 'other' && others[name])
      entries = entries.map(([one, old]) => [one, one === name ? pick(others[name] ?? [old]) : old]);
  }
  return entries;
}

export function nextAuthorization(random: () => number): AuthorizationCase {
  const pick = pickBy(random);
  const entries = changed(authorization, pick);
  const names = Object.keys(further);
  for (const name of pick([[], [], [pick(names)], [pick(names), pick(names)]]))
    entries.push([name, pick(further[name] ?? [''])]);
  return {
    entries,
    isPost: random() < 0.2,
    isSignedIn: random() < 0.8,
    times: random() < 0.1 ? pick([2, 3]) : 1,
  };
}

export function nextTokenRequest(random: () => number): TokenCase {
  const pick = pickBy(random);
  const grant = pick<TokenCase['grant']>(['authorization_code', 'authorization_code', 'refresh_token']);
  const isParallel = random() < 0.15;
  return {
    grant,
    entries: changed(token[grant], pick),
    credentials: pick<Credentials>([
      'right',
      'right',
      'right',
      'right',
      'wrong secret',
      'none',
      'other application',
      'twice',
    ]),
    isLate: random() < 0.1,
    times: isParallel ? pick([2, 3, 4]) : pick([1, 1, 1, 2]),
    isParallel,
  };
}

export const filled = (entries: readonly Entry[], blanks: Blanks): Entry[] =>
  entries.map(([name, value]) => [
    name,
    value.replace(/\{[a-z_]+\}/g, (blank) => blanks[blank as keyof Blanks] ?? blank),
  ]);
