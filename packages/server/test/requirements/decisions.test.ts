// How decisions, searches, explanations, introspection and gateways tell that a permission asks for more than was proved.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import {
  addStrong,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const [plain, own] = [await makePermission(admin), await makePermission(admin)];
await requireOfPermission(service, own.name, 'aal2', 600);
const role = await addRole(service, own.name, plain.name);
const ACCESS = '/api/v1/access/v1';
const seconds = (ago = 0): number => Math.floor(Date.now() / 1_000) - ago;

function asked(permission: string) {
  const dot = permission.lastIndexOf('.');
  return {
    action: { name: permission.slice(dot + 1) },
    resource: { type: permission.slice(0, dot), id: 'any' },
  };
}

const unmet = { reason: 'step_up_required', permission: own.name, acr_values: 'aal2 phr', max_age: 600 };

test('the context of the request decides; without it nothing is proved', async () => {
  const subject = { type: 'user', id: (await addPerson(service, { roles: [role] })).id };
  const evaluate = async (context?: Record<string, unknown>) =>
    (
      await admin.post(`${ACCESS}/evaluation`, {
        subject,
        ...asked(own.name),
        ...(context ? { context } : {}),
      })
    ).body;
  const refusing = [
    undefined,
    {},
    { acr: 'aal2' },
    { acr: 'aal1', auth_time: seconds() },
    { acr: 'urn:other', auth_time: seconds() },
    { acr: 'aal2', auth_time: seconds(700) },
    { acr: 'aal2', auth_time: seconds(-120) },
    { auth_time: seconds() },
  ];
  for (const context of refusing)
    assert.deepEqual(await evaluate(context), { decision: false, context: unmet }, JSON.stringify(context));
  // The clock of the asker may be a minute ahead.
  for (const ago of [30, -40])
    for (const acr of ['aal2', 'phr'])
      assert.deepEqual(await evaluate({ acr, auth_time: seconds(ago), ip: '127.0.0.1' }), {
        decision: true,
        context: { reason: 'granted', permission: own.name },
      });
});

test('superusers are under it, and who lacks the permission is not sent to prove anything', async () => {
  const boss = await addPerson(service, { superuser: true });
  const nobody = await addPerson(service);
  const answers = await admin.post(`${ACCESS}/evaluations`, {
    ...asked(own.name),
    evaluations: [boss, nobody].map(({ id }) => ({ subject: { type: 'user', id } })),
  });
  assert.deepEqual(
    answers.body.evaluations.map((one: { context: { reason: string } }) => one.context.reason),
    ['step_up_required', 'not_granted'],
  );
});

test('service accounts and roles have nothing to prove', async () => {
  const account = await addServiceAccount(service, { permissions: [own.name] });
  for (const subject of [
    { type: 'service_account', id: account.id },
    { type: 'role', id: role },
  ]) {
    const { body } = await admin.post(`${ACCESS}/evaluation`, { subject, ...asked(own.name) });
    assert.equal(body.decision, true);
  }
});

test('each item of a list may have its own context', async () => {
  const { id } = await addPerson(service, { roles: [role] });
  const { body } = await admin.post(`${ACCESS}/evaluations`, {
    subject: { type: 'user', id },
    ...asked(own.name),
    context: { acr: 'phr', auth_time: seconds() },
    evaluations: [{}, { context: {} }, { context: { acr: 7 } }],
  });
  assert.deepEqual(
    body.evaluations.map((one: { decision: boolean }) => one.decision),
    [true, false, false],
  );
  assert.equal(body.evaluations[2].context.error.status, 400);
});

test('wrong types in the context are 400 everywhere', async () => {
  const subject = { type: 'user', id: 'a@example.com' };
  for (const context of [{ acr: 2 }, { acr: null }, { auth_time: '1' }, { auth_time: 1.5 }, 'aal2']) {
    const bodies: Record<string, object> = {
      [`${ACCESS}/evaluation`]: { subject, ...asked(own.name), context },
      [`${ACCESS}/evaluations`]: { subject, ...asked(own.name), context },
      [`${ACCESS}/search/subject`]: { subject: { type: 'user' }, ...asked(own.name), context },
      [`${ACCESS}/search/action`]: { subject, resource: asked(own.name).resource, context },
      '/api/v1/access/explain': { subject, permission: own.name, context },
    };
    for (const [path, body] of Object.entries(bodies))
      assert.equal((await admin.post(path, body)).status, 400, `${path} ${JSON.stringify(context)}`);
  }
});

test('what the account must have proved counts only where the request says how it signed in', async () => {
  const demanding = await addRole(service, plain.name);
  await requireOfRole(service, demanding, 'aal2');
  const subject = { type: 'user', id: (await addPerson(service, { roles: [demanding] })).id };
  const evaluate = async (context: Record<string, unknown>) =>
    (await admin.post(`${ACCESS}/evaluation`, { subject, ...asked(plain.name), context })).body;
  assert.equal((await evaluate({})).decision, true);
  assert.deepEqual(await evaluate({ acr: 'aal1' }), {
    decision: false,
    context: { reason: 'step_up_required', permission: plain.name, acr_values: 'aal2 phr' },
  });
  assert.equal((await evaluate({ acr: 'aal2' })).decision, true);
  const search = async (context: Record<string, unknown>) =>
    (
      await admin.post(`${ACCESS}/search/subject`, {
        subject: { type: 'user' },
        ...asked(plain.name),
        context,
      })
    ).body.results.some(({ id }: { id: string }) => id === subject.id);
  assert.deepEqual(
    [await search({}), await search({ acr: 'aal1' }), await search({ acr: 'aal2' })],
    [true, false, true],
  );
});

test('people who ask about themselves are judged by their token, whatever the request says', async () => {
  const strong = await addStrong(service, own.name);
  const { client, person } = await signedInWith(service, own.name);
  const told = { acr: 'phr', auth_time: seconds() };
  for (const [at, id, expected] of [
    [strong.client, strong.id, true],
    [client, person.id, false],
  ] as const) {
    const subject = { type: 'user', id };
    for (const context of [undefined, told, { acr: 'aal1' }]) {
      const more = context ? { context } : {};
      const decided = await at.post(`${ACCESS}/evaluation`, { subject, ...asked(own.name), ...more });
      assert.equal(decided.body.decision, expected);
      const actions = await at.post(`${ACCESS}/search/action`, {
        subject,
        resource: asked(own.name).resource,
        ...more,
      });
      assert.equal(actions.body.results.length, expected ? 1 : 0);
    }
    const gateway = await at.get(`/api/v1/access/forward?permission=${own.name}`);
    assert.equal(gateway.status, expected ? 204 : 403);
    if (!expected) assert.equal(gateway.body.code, 'step_up_required');
  }
});

test('a search of subjects finds exactly those that an evaluation with its context permits', async () => {
  const asker = await addStrong(service, own.name, 'access.check');
  const weak = await signedInWith(service, own.name, 'access.check');
  const ids = (await service.sql<{ id: string }>('select id from users where is_active order by id')).map(
    ({ id }) => id,
  );
  for (const { client } of [asker, weak])
    for (const context of [{}, { acr: 'aal1' }, { acr: 'aal2', auth_time: seconds() }]) {
      const evaluations = ids.map((id) => ({ subject: { type: 'user', id } }));
      const decided = await client.post(`${ACCESS}/evaluations`, {
        ...asked(own.name),
        context,
        evaluations,
      });
      const permitted = ids.filter((_, at) => decided.body.evaluations[at].decision);
      const { body } = await client.post(`${ACCESS}/search/subject`, {
        subject: { type: 'user' },
        ...asked(own.name),
        context,
      });
      assert.deepEqual(
        body.results.map(({ id }: { id: string }) => id),
        permitted,
        JSON.stringify(context),
      );
      assert.equal(body.page.total, permitted.length);
    }
});

test('an explanation tells what the permission asks for, with the sources that grant it', async () => {
  const { id } = await addPerson(service, { roles: [role] });
  const explain = async (context?: Record<string, unknown>) =>
    (
      await admin.post('/api/v1/access/explain', {
        subject: { type: 'user', id },
        permission: own.name,
        ...(context ? { context } : {}),
      })
    ).body.data;
  const refused = await explain();
  assert.deepEqual(
    [refused.decision, refused.reason, refused.required_acr, refused.max_auth_age, refused.acr_values],
    [false, 'step_up_required', 'aal2', 600, 'aal2 phr'],
  );
  assert.equal(refused.sources[0].role.id, role);
  assert.deepEqual(refused.nearest, []);
  const granted = await explain({ acr: 'aal2', auth_time: seconds() });
  assert.deepEqual([granted.decision, granted.reason, granted.required_acr], [true, 'granted', 'aal2']);
  const { body } = await admin.post('/api/v1/access/explain', {
    subject: { type: 'user', id },
    permission: plain.name,
  });
  assert.ok(!('required_acr' in body.data) && !('acr_values' in body.data));
});

test('effective permissions list what is granted, with what it asks for', async () => {
  const { client } = await signedInWith(service, own.name, plain.name);
  const { permissions } = (await client.get('/api/v1/users/me/effective-permissions')).body.data;
  const entry = (name: string) => permissions.find((one: { name: string }) => one.name === name);
  assert.deepEqual(entry(own.name).authentication, { required_acr: 'aal2', max_auth_age: 600 });
  assert.ok(!('authentication' in entry(plain.name)));
});

test('introspection keeps what is not met apart', async () => {
  const machine = await addServiceAccount(service, { permissions: ['token.introspect', own.name] });
  const introspect = async (token: string) =>
    (
      await postForm(
        service,
        'introspect',
        { token, include: 'permissions' },
        {
          authorization: `Bearer ${machine.key}`,
        },
      )
    ).body;
  const { client } = await signedInWith(service, own.name, plain.name);
  const weak = await introspect(client.accessToken ?? '');
  assert.deepEqual(weak.permissions, [plain.name]);
  assert.deepEqual(weak.step_up, [{ permission: own.name, acr_values: 'aal2 phr', max_age: 600 }]);
  const strong = await addStrong(service, own.name, plain.name);
  const met = await introspect(strong.client.accessToken ?? '');
  assert.deepEqual(met.permissions, [own.name, plain.name].sort());
  assert.ok(!('step_up' in met));
  const key = await introspect(machine.key);
  assert.ok(key.permissions.includes(own.name) && !('step_up' in key));
});

test('the metadata names the levels', async () => {
  const { body } = await admin.get('/.well-known/oauth-authorization-server');
  assert.deepEqual(body.acr_values_supported, ['aal1', 'aal2', 'phr']);
});
