// Random token requests, the same for every provider: valid ones with parameters missing, doubled, wrong, late, or of another application.
// It must not know what a provider answers.

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

/** Values that a provider fills in: the callback, a code, a refresh token, the verifier. */
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

/** Values that are wrong, unusual or of somebody else, by parameter. */
const others: Record<string, readonly string[]> = {
  redirect_uri: ['{callback}/', '{callback}?a=b', 'https://evil.example/callback', 'not an address', ''],
  grant_type: ['refresh_token', 'authorization_code', 'password', 'implicit', ''],
  code: ['nonsense', '{refresh_token}', ''],
  code_verifier: ['v'.repeat(43), 'short', ''],
  refresh_token: ['nonsense', '{code}', ''],
};
/** Returns the case of this number of a run. */
export function nextCase(random: () => number): TokenCase {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const change = (valid: readonly Entry[]): Entry[] => {
    let entries = [...valid];
    // A third of the requests is valid or nearly so.
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
  };
  const grant = pick<TokenCase['grant']>(['authorization_code', 'authorization_code', 'refresh_token']);
  const isParallel = random() < 0.15;
  return {
    grant,
    entries: change(token[grant]),
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
