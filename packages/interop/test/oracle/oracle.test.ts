// Asks Castellan and oidc-provider the same random requests, and compares the classes of their answers.
// ORACLE_SEED repeats a run, ORACLE_REQUESTS changes how many requests each gets, half of them at the token service.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startCastellan } from '../providers/castellan.ts';
import { startLibrary } from '../providers/oidc-provider.ts';
import { askerOf } from './asking.ts';
import { authorizerOf } from './authorizing.ts';
import { nextAuthorization, nextTokenRequest, randomOf } from './cases.ts';
import { authorizationDifferences, type Difference, tokenDifferences } from './differences.ts';

const seed = Number(process.env.ORACLE_SEED ?? 20_261_128);
const most = Number(process.env.ORACLE_REQUESTS ?? 5_000) / 2;

const ours = await startCastellan({ after }, {}, { TRUSTED_PROXIES: '127.0.0.1' });
const theirs = await startLibrary({ after });

type Asked<Case> = { ask(one: Case): Promise<string[]>; readonly requests: number };

/** Returns the classes that Castellan answered. Asserts that every other answer of the library is a known difference. */
async function compare<Case>(
  next: (random: () => number) => Case,
  [own, others]: readonly [Asked<Case>, Asked<Case>],
  differences: readonly Difference<Case>[],
): Promise<Set<string>> {
  const random = randomOf(seed);
  const classes = new Set<string>();
  const unexplained: unknown[] = [];
  while (own.requests < most) {
    const one = next(random);
    const [told, expected] = await Promise.all([own.ask(one), others.ask(one)]);
    for (const each of told) classes.add(each);
    if (String(told) === String(expected)) continue;
    if (!differences.some(({ explains }) => explains(one, told, expected)))
      unexplained.push({ one, told, expected });
  }
  assert.deepEqual(unexplained, []);
  return classes;
}

test(`random authorization requests get answers of the same class (ORACLE_SEED=${seed})`, async () => {
  const askers = [await authorizerOf(ours), await authorizerOf(theirs)] as const;
  const classes = await compare(nextAuthorization, askers, authorizationDifferences);
  // Not only refusals.
  for (const one of ['code', 'asks sign_in', 'page 400', 'invalid_request']) assert.ok(classes.has(one), one);
});

test(`random token requests get answers of the same class (ORACLE_SEED=${seed})`, async () => {
  const askers = [await askerOf(ours), await askerOf(theirs)] as const;
  const classes = await compare(nextTokenRequest, askers, tokenDifferences);
  // Not only refusals.
  for (const one of ['tokens', '400 invalid_grant', '401 invalid_client']) assert.ok(classes.has(one), one);
});
