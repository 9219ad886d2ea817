// Reading, versions and ids of single roles, role groups, permissions and permission groups.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  etagOf,
  newName,
  signInWith,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { nouns, storedName } from './nouns.ts';

const started = await startServiceWithAdmin({ after });
const { service, admin } = started;
const twin = await service.another();
const maker = await signInWith(
  service,
  ['role', 'role_group', 'permission', 'permission_group'].flatMap((group) => [
    `${group}.create`,
    `${group}.read`,
  ]),
);

for (const [what, noun] of Object.entries(nouns)) {
  const create = async (name: string) =>
    (await admin.post(noun.path, await noun.body(started, name))).body.data;

  test(`${what}: create answers 201 with the record, its creator and time, and is audited`, async () => {
    const name = newName();
    const body = await noun.body(started, name);
    const made = await maker.client.post(noun.path, body);
    assert.equal(made.status, 201, made.text);
    const { data } = made.body;
    assert.equal(data.name, storedName(noun, name));
    assert.equal(data.created_by_id, maker.userId);
    assert.match(data.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(data.updated_at, data.created_at);
    const read = await maker.client.get(`${noun.path}/${data.id}`);
    assert.equal(read.status, 200);
    assert.deepEqual(read.body.data, data);
    if (noun.versioned) assert.equal(etagOf(made), etagOf(read));
    const [change] = await changesOf(service, data.id);
    assert.match(change?.action ?? '', /_created$/);
    assert.equal(change?.actor_id, maker.userId);
    assert.equal(change?.details.before, null);
    assert.equal(change?.details.after.name, storedName(noun, name));
  });

  test(`${what}: unknown body fields are ignored, including names of columns`, async () => {
    const body = await noun.body(started, newName());
    const made = await admin.post(noun.path, {
      ...body,
      id: ABSENT_ID,
      version: 7,
      created_by_id: ABSENT_ID,
      nonsense: { a: 1 },
    });
    assert.equal(made.status, 201, made.text);
    assert.notEqual(made.body.data.id, ABSENT_ID);
    assert.notEqual(made.body.data.created_by_id, ABSENT_ID);
  });

  test(`${what}: is_system, which no operation sets, is refused`, async () => {
    const name = newName();
    const refused = await admin.post(noun.path, { ...(await noun.body(started, name)), is_system: true });
    assertRefused(refused, 400, 'field_not_allowed');
    assert.equal(refused.body.errors[0].field, 'is_system');
    assert.equal((await create(name)).name, storedName(noun, name), 'nothing was created');
  });

  test(`${what}: an unknown id is 404, one that is not a UUID 400, on every method`, async () => {
    const methods = noun.versioned ? (['GET', 'PUT', 'DELETE'] as const) : (['GET', 'DELETE'] as const);
    for (const method of methods) {
      const json = method === 'PUT' ? { json: { name: newName() } } : {};
      assertRefused(await admin.request(method, `${noun.path}/${ABSENT_ID}`, json), 404, noun.notFound);
      for (const id of ['x', '1', `${ABSENT_ID}0`, `{${ABSENT_ID}}`, ABSENT_ID.replaceAll('-', '')])
        assertRefused(await admin.request(method, `${noun.path}/${id}`, json), 400, 'invalid_id');
    }
  });

  test(`${what}: an id in upper case is the same id`, async () => {
    const { id } = await create(newName());
    const path = `${noun.path}/${id.toUpperCase()}`;
    assert.equal((await admin.get(path)).body.data.id, id);
    if (noun.versioned)
      assert.equal((await admin.put(path, { description: 'changed' })).body.data.description, 'changed');
    const deleted = await admin.delete(path);
    assert.equal(deleted.status, noun.versioned ? 204 : 200, deleted.text);
    const actions = (await changesOf(service, id)).map(({ action }) => action.replace(/^.*_/, ''));
    assert.deepEqual(actions, noun.versioned ? ['created', 'updated', 'deleted'] : ['created', 'deleted']);
  });

  test(`${what}: of 16 parallel creates of one name at two instances exactly one succeeds, the others are 409`, async () => {
    for (let round = 0; round < 5; round += 1) {
      const body = await noun.body(started, newName('raced'));
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          (index % 2 ? admin : admin.at(twin.url)).post(noun.path, body),
        ),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [201, ...Array(15).fill(409)]);
    }
  });

  if (!noun.versioned) continue;

  test(`${what}: an update changes only the fields that it names, with before and after in the log`, async () => {
    const before = await create(newName());
    const path = `${noun.path}/${before.id}`;
    const described = await admin.put(path, { description: 'new' });
    assert.equal(described.status, 200, described.text);
    assert.equal(described.body.data.name, before.name);
    const name = newName();
    const renamed = await admin.put(path, { name });
    assert.equal(renamed.body.data.description, 'new');
    assert.equal(renamed.body.data.created_at, before.created_at);
    assert.ok(renamed.body.data.updated_at > before.updated_at);
    const changes = await changesOf(service, before.id);
    assert.deepEqual(
      changes.slice(1).map(({ details }) => ({ before: details.before, after: details.after })),
      [
        { before: { description: '' }, after: { description: 'new' } },
        { before: { name: before.name }, after: { name } },
      ],
    );
    const cleared = await admin.put(path, { description: '' });
    assert.equal(cleared.body.data.description, '');
  });

  test(`${what}: an update of the current version succeeds, one of an older version is 412 with the current record`, async () => {
    const { id } = await create(newName());
    const path = `${noun.path}/${id}`;
    const old = etagOf(await admin.get(path));
    const first = await admin.put(path, { description: 'first' }, { headers: { 'if-match': old } });
    assert.equal(first.status, 200, first.text);
    assert.notEqual(etagOf(first), old);
    const bare = etagOf(first).replaceAll('"', '');
    for (const ifMatch of [
      old,
      `W/${old}`,
      old.replace(/"$/, '-gzip"'),
      '"x"',
      `"${bare}x"`,
      bare,
      'nonsense',
      '"',
    ]) {
      const late = await admin.put(path, { description: 'late' }, { headers: { 'if-match': ifMatch } });
      assertRefused(late, 412, 'precondition_failed');
      const isMalformed = !/^(W\/)?"[^"]*"$/.test(ifMatch);
      assert.match(late.body.detail, isMalformed ? /^If-Match must be the ETag/ : /^The record has changed/);
      assert.equal(late.body.current.description, 'first');
      assert.equal(etagOf(late), etagOf(first));
      assertRefused(
        await admin.delete(path, undefined, { headers: { 'if-match': ifMatch } }),
        412,
        'precondition_failed',
      );
    }
    const among = await admin.put(path, {}, { headers: { 'if-match': `"999", ${etagOf(first)}` } });
    assert.equal(among.status, 200, among.text);
    const any = await admin.put(path, {}, { headers: { 'if-match': '*' } });
    assert.equal(any.status, 200, any.text);
    for (const altered of [(one: string) => `W/${one}`, (one: string) => one.replace(/"$/, ';br"')]) {
      const seen = etagOf(await admin.get(path));
      const saved = await admin.put(
        path,
        { description: newName() },
        { headers: { 'if-match': altered(seen) } },
      );
      assert.equal(saved.status, 200, saved.text);
    }
    const last = `W/${etagOf(await admin.get(path)).replace(/"$/, '--gzip"')}`;
    const deleted = await admin.delete(path, undefined, { headers: { 'if-match': last } });
    assert.equal(deleted.status, 204, deleted.text);
  });

  test(`${what}: of 16 parallel updates of one version exactly one succeeds`, async () => {
    const { id } = await create(newName());
    const path = `${noun.path}/${id}`;
    const etag = etagOf(await admin.get(path));
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        admin.put(path, { description: `writer ${index}` }, { headers: { 'if-match': etag } }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(15).fill(412)]);
  });
}
