// The last superuser who can sign in, attacked from two sides and from sixteen: one always stays.
// It must not leave the administrator of the other scenarios demoted.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestClient } from '../../client.ts';
import { ADMIN, signIn } from '../../harness.ts';
import { addPerson, tally as statusCounts } from '../../users/people.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';
import {
  assertAmong,
  assertInOrder,
  type Deed,
  fire,
  openOffice,
  put,
  remove,
  times,
} from './admin-office.ts';

const scenario = scenariosOf('races');
const office = await openOffice({ after });
const { service } = office;

type Superuser = { id: string; as: TestClient };

/** These and nobody else are superusers until `restore`. */
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
const ways: Record<string, (id: string) => Deed> = {
  demoted: (id) => put(`users/${id}`, { is_superuser: false }),
  deactivated: (id) => put(`users/${id}`, { is_active: false }),
  'made unverified': (id) => put(`users/${id}`, { verified: false }),
  deleted: (id) => remove(`users/${id}`),
  'demoted in bulk': (id) => bulk(id, { is_superuser: false }),
  'deactivated in bulk': (id) => bulk(id, { is_active: false }),
};
const acts = Object.values(ways);

const anyWay = (round: number) => (index: number) => acts[(index + round) % acts.length] as (typeof acts)[0];
for (const [what, actOf] of [
  ...Object.entries(ways).map(([name, act]) => [`is ${name}`, () => () => act] as const),
  ['loses that in any way', anyWay] as const,
]) {
  scenario(`of two superusers each of whom ${what} by the other one stays`, async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const [first, second] = (await onlySuperusers(2)) as [Superuser, Superuser];
      const actAt = actOf(round);
      const deeds = times(16, (index): Deed => {
        const [by, target] = index % 2 ? [first, second] : [second, first];
        return { ...actAt(index >> 1)(target.id), as: by.as };
      });
      const answers = await fire(office, tally, round, deeds);
      // The loser is told so, or is no superuser, or not even signed in any more when his request is looked at.
      assertAmong(answers, [200, 401, 403, 404, 409]);
      await assertOneStays(tally);
    }
    await restore();
    await assertInOrder(office, tally);
  });
}

scenario('of 16 superusers who all step down at once one stays', async (tally) => {
  for (let round = 0; round < rounds(3, 18); round += 1) {
    const superusers = await onlySuperusers(16);
    const steps = [
      ({ id }: Superuser) => put(`users/${id}`, { is_superuser: false }),
      ({ id }: Superuser) => bulk(id, { is_active: false }),
      ({ id }: Superuser) => put(`users/${id}`, { verified: false }),
      ({ id }: Superuser) => bulk(id, { is_superuser: false }),
    ];
    const deeds = superusers.map((one, index): Deed => {
      const step = steps[(index + round) % steps.length] as (typeof steps)[0];
      return { ...step(one), as: one.as };
    });
    assert.deepEqual(statusCounts(await fire(office, tally, round, deeds)), { 200: 15, 409: 1 });
    tally.held();
    await assertOneStays(tally);
  }
  await restore();
  await assertInOrder(office, tally);
});

scenario('of 16 superusers each of whom demotes all others at once one stays', async (tally) => {
  for (let round = 0; round < rounds(2, 12); round += 1) {
    const superusers = await onlySuperusers(16);
    const deeds = superusers.map((one, index): Deed => {
      const others = superusers.filter((other) => other !== one).map(({ id }) => id);
      const updates = (index + round) % 2 ? { is_superuser: false } : { is_active: false };
      return {
        ...put('users/bulk-update', { user_ids: index % 3 ? others : others.toReversed(), updates }),
        as: one.as,
      };
    });
    const answers = await fire(office, tally, round, deeds);
    assertAmong(answers, [200, 401, 403, 409]);
    assert.ok(answers.some(({ status }) => status === 200));
    tally.held();
    await assertOneStays(tally);
  }
  await restore();
  await assertInOrder(office, tally);
});
