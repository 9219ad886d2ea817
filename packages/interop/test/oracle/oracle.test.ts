// Asks Castellan and oidc-provider the same random token requests, and compares the classes of their answers.
// ORACLE_SEED repeats a run, ORACLE_REQUESTS changes how many requests each gets.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn } from '@castellan/testing/harness';
import { startCastellan } from '../providers/castellan.ts';
import { startLibrary } from '../providers/oidc-provider.ts';
import { askerOf } from './asking.ts';
import { nextCase, randomOf } from './cases.ts';
import { differences } from './differences.ts';

const seed = Number(process.env.ORACLE_SEED ?? 20_261_128);
const most = Number(process.env.ORACLE_REQUESTS ?? 600);

test(`random token requests get answers of the same class (ORACLE_SEED=${seed})`, async () => {
  const castellan = await startCastellan({ after }, {}, { TRUSTED_PROXIES: '127.0.0.1' });
  await signIn(castellan.service, castellan.person);
  const ours = await askerOf(castellan, castellan.grantCode);
  const theirs = await askerOf(await startLibrary({ after }));
  const random = randomOf(seed);
  const classes = new Set<string>();
  const unexplained: unknown[] = [];
  while (ours.requests < most) {
    const one = nextCase(random);
    const [told, expected] = await Promise.all([ours.ask(one), theirs.ask(one)]);
    for (const each of told) classes.add(each);
    if (String(told) === String(expected)) continue;
    if (!differences.some(({ explains }) => explains(one, told, expected)))
      unexplained.push({ one, told, expected });
  }
  assert.deepEqual(unexplained, []);
  // Not only refusals.
  assert.ok(classes.has('tokens') && classes.has('400 invalid_grant') && classes.has('401 invalid_client'));
});
