// Superusers who demote, deactivate or delete each other at once: one who can sign in always stays.
// It must restore the administrator for the next scenario.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { addPerson, tally as statusCounts } from '@castellan/testing/users/people';
import { openPair } from '../../fixture.ts';
import { assertAmong, assertInOrder, put, type RequestSpec, remove, sendAtOnce, times } from './pair.ts';

const scenario = scenariosOf('races');
const pair = await openPair({ after });
const { service } = pair;

type Superuser = { id: string; as: TestClient };

/** Makes new users the only superusers until `restore`. */
async function onlySuperusers(count: number): Promise<Superuser[]> {
  const people = await Promise.all(times(count, () => addPerson(service, { superuser: true })));
  await service.sql('update users set is_superuser = id = any($1) where is_superuser', [
    people.map(({ id }) => id),
  ]);
  return Promise.all(people.map(async (person) => ({ id: person.id, as: await signIn(service, person) })));
}

const restore = () => service.sql('update users set is_superuser = (email = $1)', [ADMIN.email]);

async function assertOneStays(tally: Tally): Promise<void> {
  const left = await service.sql('select from users where is_superuser and is_active and verified');
  assert.equal(left.length, 1);
  tally.held();
}

const bulk = (id: string, updates: object) => put('users/bulk-update', { user_ids: [id], updates });
const changes: Record<string, (id: string) => RequestSpec> = {
  demoted: (id) => put(`users/${id}`, { is_superuser: false }),
  deactivated: (id) => put(`users/${id}`, { is_active: false }),
  'made unverified': (id) => put(`users/${id}`, { verified: false }),
  deleted: (id) => remove(`users/${id}`),
  'demoted in bulk': (id) => bulk(id, { is_superuser: false }),
  'deactivated in bulk': (id) => bulk(id, { is_active: false }),
};
const allChanges = Object.values(changes);

const anyChange = (round: number) => (index: number) =>
  allChanges[(index + round) % allChanges.length] as (typeof allChanges)[0];
for (const [what, changeOf] of [
  ...Object.entries(changes).map(([name, change]) => [`is ${name}`, () => () => change] as const),
  ['is changed in any of these ways', anyChange] as const,
]) {
  scenario(`of two superusers each of whom ${what} by the other, one stays`, async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const [first, second] = (await onlySuperusers(2)) as [Superuser, Superuser];
      const changeAt = changeOf(round);
      const requests = times(16, (index): RequestSpec => {
        const [by, target] = index % 2 ? [first, second] : [second, first];
        return { ...changeAt(index >> 1)(target.id), as: by.as };
      });
      const answers = await sendAtOnce(pair, tally, round, requests);
      // A refused request finds the last superuser (409), or its sender no longer a superuser, signed in or existing.
      assertAmong(answers, [200, 401, 403, 404, 409]);
      await assertOneStays(tally);
    }
    await restore();
    await assertInOrder(pair, tally);
  });
}

scenario('of 16 superusers who all demote themselves at once, one stays', async (tally) => {
  for (let round = 0; round < rounds(2, 18); round += 1) {
    const superusers = await onlySuperusers(16);
    const steps = [
      ({ id }: Superuser) => put(`users/${id}`, { is_superuser: false }),
      ({ id }: Superuser) => bulk(id, { is_active: false }),
      ({ id }: Superuser) => put(`users/${id}`, { verified: false }),
      ({ id }: Superuser) => bulk(id, { is_superuser: false }),
    ];
    const requests = superusers.map((one, index): RequestSpec => {
      const step = steps[(index + round) % steps.length] as (typeof steps)[0];
      return { ...step(one), as: one.as };
    });
    assert.deepEqual(statusCounts(await sendAtOnce(pair, tally, round, requests)), { 200: 15, 409: 1 });
    tally.held();
    await assertOneStays(tally);
  }
  await restore();
  await assertInOrder(pair, tally);
});

scenario('of 16 superusers each of whom demotes all others at once, one stays', async (tally) => {
  for (let round = 0; round < rounds(2, 12); round += 1) {
    const superusers = await onlySuperusers(16);
    const requests = superusers.map((one, index): RequestSpec => {
      const others = superusers.filter((other) => other !== one).map(({ id }) => id);
      const updates = (index + round) % 2 ? { is_superuser: false } : { is_active: false };
      return {
        ...put('users/bulk-update', { user_ids: index % 3 ? others : others.toReversed(), updates }),
        as: one.as,
      };
    });
    const answers = await sendAtOnce(pair, tally, round, requests);
    assertAmong(answers, [200, 401, 403, 409]);
    assert.ok(answers.some(({ status }) => status === 200));
    tally.held();
    await assertOneStays(tally);
  }
  await restore();
  await assertInOrder(pair, tally);
});
