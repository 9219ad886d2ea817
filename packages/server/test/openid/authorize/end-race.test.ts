// Ends of an application's access while a person is led to it: what was judged before the end is not granted after it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '@castellan/testing/harness';
import { path, startWithAdmin } from '../../applications/fixture.ts';
import {
  addApplication,
  addSignedIn,
  assertError,
  exchange,
  REDIRECT,
  type TestApplication,
} from '../fixture.ts';
import { act, ask, interactionOf, ledTo, resume, verifier } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
// Browsers get a cookie once there is an application.
await addApplication(admin, [service]);
const ada = await addSignedIn(service);

/** Returns an application that the person agreed to, whose authorizations wait for the row of the consent. */
async function addAgreed(): Promise<TestApplication> {
  const application = await addApplication(admin, [service], { first_party: false });
  const id = interactionOf(await ask(ada.client, application));
  assert.equal((await act(ada.client, id, 'consent', { decision: 'allow' })).status, 200);
  assert.ok(ledTo(await resume(ada.client, id)).fields.code);
  return application;
}

const put = async (application: TestApplication, fields: object): Promise<void> => {
  const answer = await admin.put(`${path}/${application.id}`, fields);
  assert.equal(answer.status, 200, answer.text);
};
const moved = [`${REDIRECT}/moved`];
const ends: Readonly<Record<string, (application: TestApplication) => Promise<void>>> = {
  'is inactive for a moment': async (application) => {
    await put(application, { is_active: false });
    await put(application, { is_active: true, redirect_uris: moved });
  },
  'loses all grants': async (application) => {
    await put(application, { redirect_uris: moved });
    assert.equal((await admin.delete(`${path}/${application.id}/grants`)).status, 200);
  },
};

for (const [what, end] of Object.entries(ends))
  test(`an application that ${what} while a grant is written gets no tokens for it`, async () => {
    const application = await addAgreed();
    const holder = await service.service.deps.pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select from consents where application_id = $1 for update', [application.id]);
      const asked = ask(ada.client, application);
      await eventually(
        async () =>
          (
            await service.sql(
              `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
            )
          )[0],
        'the grant that waits',
      );
      await end(application);
      await holder.query('commit');
      const { code = '' } = ledTo(await asked).fields;
      assertError(await exchange(service, application, { code, verifier }), 400, 'invalid_grant');
      const live = await service.sql(
        `select from access_grants g join applications a on a.id = g.application_id
         where a.id = $1 and g.application_epoch = a.access_epoch`,
        [application.id],
      );
      assert.equal(live.length, 0);
    } finally {
      holder.release();
    }
    const again = ledTo(await ask(ada.client, application, { redirect_uri: moved[0] }));
    const { code = '' } = again.fields;
    const tokens = await exchange(service, application, { code, verifier }, { redirect_uri: moved[0] ?? '' });
    assert.equal(tokens.status, 200, tokens.text);
  });
