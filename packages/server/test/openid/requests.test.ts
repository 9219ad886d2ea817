// Requests that wait for a person: how long, for whom, and that each is used up once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { removeSessionRows } from '../../src/cleanup.ts';
import {
  findRequest,
  keepRequest,
  noteInRequest,
  useRequest,
} from '../../src/modules/openid/interactions/service.ts';
import { startWithAdmin } from '../applications/fixture.ts';

const { service } = await startWithAdmin({ after });
await service.service.scheduler.stop();
const { db } = service.service.deps;
const parameters = { client_id: 'x', state: 'a\r\n"\u{1F511}' };
const keep = (kind: 'pushed' | 'interaction' | 'sign_out' = 'interaction') =>
  keepRequest(db, { kind, applicationId: null, parameters });

for (const [kind, seconds] of [
  ['pushed', 90],
  ['interaction', 1_800],
  ['sign_out', 1_800],
] as const)
  test(`${kind}: kept for ${seconds} s, found by its id and its kind alone`, async () => {
    const kept = await keep(kind);
    assert.match(kept.id, /^[\w-]{43}$/);
    assert.equal(kept.expires_at.getTime() - kept.created_at.getTime(), seconds * 1_000);
    assert.deepEqual(await findRequest(db, kind, kept.id), {
      application_id: null,
      parameters,
      state: {},
      created_at: kept.created_at,
      expires_at: kept.expires_at,
    });
    const other = kind === 'pushed' ? 'interaction' : 'pushed';
    assert.equal(await findRequest(db, other, kept.id), undefined);
    assert.equal(await useRequest(db, other, kept.id), undefined);
    const stored = await service.sql<{ row: string }>(
      'select q::text || encode(id_hash, $$base64$$) as row from application_requests q',
    );
    assert.ok(stored.every(({ row }) => !row.includes(kept.id)));
  });

test('what the person did is added to the state', async () => {
  const { id } = await keep();
  assert.equal(await noteInRequest(db, 'interaction', id, { a: 1, b: { c: 1 } }), true);
  assert.equal(await noteInRequest(db, 'interaction', id, { b: { d: 2 } }), true);
  assert.deepEqual((await findRequest(db, 'interaction', id))?.state, { a: 1, b: { d: 2 } });
});

test('of parallel uses one counts, and afterwards the request is gone', async () => {
  const { id } = await keep();
  const uses = await Promise.all(Array.from({ length: 8 }, () => useRequest(db, 'interaction', id)));
  assert.equal(uses.filter((used) => used !== undefined).length, 1);
  assert.equal(await findRequest(db, 'interaction', id), undefined);
  assert.equal(await noteInRequest(db, 'interaction', id, { a: 1 }), false);
});

test('an expired request, an unknown id and a text that is none are gone', async () => {
  const { id } = await keep();
  await service.sql('update application_requests set expires_at = now() where used_at is null');
  for (const text of [id, 'A'.repeat(43), '', 'x', `${id}=`, '\0'.repeat(43)]) {
    assert.equal(await findRequest(db, 'interaction', text), undefined);
    assert.equal(await useRequest(db, 'interaction', text), undefined);
    assert.equal(await noteInRequest(db, 'interaction', text, {}), false);
  }
});

test('the clean-up removes requests at their end, and pushed ones an hour later', async () => {
  await service.sql('delete from application_requests');
  const end = (kind: 'pushed' | 'interaction' | 'sign_out', minutes: number) =>
    service.sql(
      `update application_requests set expires_at = now() - make_interval(mins => $2)
       where id_hash = (select id_hash from application_requests where kind = $1 order by created_at desc limit 1)`,
      [kind, minutes],
    );
  for (const kind of ['interaction', 'sign_out', 'pushed'] as const) {
    await keep(kind);
    await keep(kind);
    await end(kind, kind === 'pushed' ? 61 : 1);
  }
  await keep('pushed');
  await end('pushed', 59);
  await removeSessionRows(service.service.deps);
  const kept = await service.sql<{ kind: string }>('select kind from application_requests order by kind');
  assert.deepEqual(
    kept.map(({ kind }) => kind),
    ['interaction', 'pushed', 'pushed', 'sign_out'],
  );
});
