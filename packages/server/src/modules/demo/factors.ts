// Makes up the second factors of the people of the company.
// It must not make a secret: anyone who knows the seed would know it.
import type { Row } from '../../schema/database.ts';
import { createRandom } from './random.ts';

/** Times are seconds before now. A factor of a person who has not signed in was never used. */
type Uses = { age_s: number; last_used_age_s: number | null };

type App = Uses & { user_id: string };
type Passkey = Uses &
  Pick<Row<'passkeys'>, 'id' | 'user_id' | 'name' | 'transports' | 'backed_up'> & {
    kind: 'passkey' | 'security_key';
  };
/** Ten recovery codes, of which so many are used. */
type Codes = { user_id: string; age_s: number; used: number };

export type Factors = {
  app: App | null;
  passkeys: Passkey[];
  codes: Codes;
  /** How the person signs in. */
  proof: 'passkey' | 'password+totp' | 'password+passkey';
};

/** The share of people with a factor, of those who may sign in. */
const SHARE = 0.4;
/** Each has ten recovery codes, so more would take most of the time of a run with a million people. */
const MAX_PEOPLE = 20_000;
const DAY = 86_400;

type Sort = { weight: number; hasApp: boolean; kinds: readonly Passkey['kind'][]; proof: Factors['proof'] };

const sorts: readonly Sort[] = [
  { weight: 5, hasApp: true, kinds: [], proof: 'password+totp' },
  { weight: 3, hasApp: false, kinds: ['passkey'], proof: 'passkey' },
  { weight: 2, hasApp: true, kinds: ['passkey'], proof: 'passkey' },
  { weight: 1, hasApp: false, kinds: ['security_key', 'security_key'], proof: 'password+passkey' },
];

const names = {
  passkey: ['Safari on iOS', 'Chrome on Android', 'Chrome on Windows', 'Safari on macOS', 'Password manager'],
  security_key: ['Key on my key ring', 'Spare key in the safe'],
} as const;

// Ids sort in the order of creation. Their time is no real one, so that a seed gives the same ids at any time.
const firstId = Date.UTC(2025, 0, 1);

/**
 * Returns a function that makes the factors of one person after the other; null for those without. Their numbers are apart from
 * those of people, so that a seed makes the same people as without factors. `age_s`: that of the account.
 */
export function createFactors(plan: {
  people: number;
  seed: string;
}): (person: { id: string; age_s: number }) => Factors | null {
  const random = createRandom(`${plan.seed}|factors`);
  const share = Math.min(SHARE, MAX_PEOPLE / plan.people);
  let made = 0;
  return ({ id: user_id, age_s: oldest }) => {
    if (!random.chance(share)) return null;
    const { hasApp, kinds, proof } = random.pickWeighted(sorts);
    // Before the sign-ins of the last 30 days, which used them.
    const newest = Math.min(oldest, 31 * DAY);
    const uses = { age_s: newest + Math.floor((oldest - newest) * random.next()), last_used_age_s: null };
    const passkeys = kinds.map((kind, at): Passkey => {
      made += 1;
      const isSynced = kind === 'passkey' && random.chance(0.8);
      return {
        ...uses,
        id: random.id(firstId + made),
        user_id,
        kind,
        name: kind === 'passkey' ? random.pick(names.passkey) : names.security_key[at === 0 ? 0 : 1],
        transports: kind === 'passkey' ? ['internal', 'hybrid'] : ['usb', 'nfc'],
        backed_up: isSynced,
      };
    });
    const used = random.chance(0.2) ? random.between(1, 8) : 0;
    return {
      app: hasApp ? { ...uses, user_id } : null,
      passkeys,
      codes: { user_id, age_s: uses.age_s, used },
      proof,
    };
  };
}

/** Returns the same factors, of which the one that signs in was last used then. */
export function usedLast(factors: Factors, last_used_age_s: number): Factors {
  const { app, passkeys, proof } = factors;
  if (app && proof === 'password+totp') return { ...factors, app: { ...app, last_used_age_s } };
  const [first, ...others] = passkeys;
  return first ? { ...factors, passkeys: [{ ...first, last_used_age_s }, ...others] } : factors;
}
