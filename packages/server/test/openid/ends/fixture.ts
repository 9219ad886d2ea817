// What the suites of ends share: a person at an application with everything that an end can end, and what is left of it
// afterwards. Ends happen at one instance, and the other is asked. It must not decide what an end should leave.
import assert from 'node:assert/strict';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import type { Hooks, TestService } from '@castellan/testing/harness';
import { addRole } from '@castellan/testing/users/people';
import { keepRequest } from '../../../src/modules/openid/interactions/service.ts';
import { startWithAdmin } from '../../applications/fixture.ts';
import { AUTHORIZE, ask, interactionOf, ledTo, parametersOf, read, resume } from '../authorize/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  exchange,
  post,
  refresh,
  type SignedIn,
  type TestApplication,
  type TestGrant,
  userinfo,
} from '../fixture.ts';
import { noticesTo, takePart } from '../notices/fixture.ts';

const RESOURCE = 'https://orders.example.com';

export type Ends = {
  service: TestService;
  /** The instance that is asked. */
  twin: TestService;
  admin: TestClient;
  resourceId: string;
  /** `orders.read`, which tokens for the API resource carry. */
  permissionId: string;
};

/** Starts two instances on one database. Nothing runs by itself: neither clean-up nor notices. */
export async function openEnds(hooks: Hooks): Promise<Ends> {
  const { service, admin } = await startWithAdmin(hooks, {
    RATE_LIMIT_AUTHORIZE: 'off',
    RATE_LIMIT_APPLICATION: 'off',
  });
  const twin = await service.another();
  for (const one of [service, twin]) {
    await one.service.scheduler.stop();
    await one.service.deps.noticeWorker.stop();
  }
  const made = async (path: string, body: object): Promise<Body> => {
    const answer = await admin.post(`/api/v1/${path}`, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.data;
  };
  const group = await made('permission-groups', { name: 'orders' });
  const permission = await made('permissions', { name: 'read', group_id: group.id });
  const resource = await made('api-resources', {
    identifier: RESOURCE,
    name: 'Orders',
    permission_group_ids: [group.id],
    access_token_seconds: 3_600,
  });
  // Browsers get a cookie once there is an application.
  await addApplication(admin, [service, twin]);
  return { service, twin, admin, resourceId: resource.id, permissionId: permission.id };
}

/** What an application received for one grant. */
type Held = { grant: TestGrant; opaque: string; jwt: string; refresh: string };

export type World = {
  application: TestApplication;
  who: SignedIn;
  /** Held by the person: the permission that the application requires. */
  role: string;
  bound: Held;
  offline: Held;
  /** Not exchanged yet: of a grant that is bound to the session, and of one that is offline. */
  codes: TestGrant[];
  /** Of a person who was asked to prove who they are. */
  interaction: string;
  pushed: string;
  sid: string;
};

const scopes = ['openid', 'email', 'roles'];

/** Returns a new person at a new application, whose tokens count at both instances. */
export async function addWorld(ends: Ends, fields: object = {}): Promise<World> {
  const { service, twin, admin, resourceId, permissionId } = ends;
  const resources = [{ resource_id: resourceId, permission_ids: [permissionId] }];
  const application = await addApplication(admin, [service, twin], {
    scopes: [...scopes, 'offline_access'],
    resources,
    backchannel_logout_url: 'http://127.0.0.1:9/',
    // Longer than a suite runs.
    access_token_seconds: 3_600,
    required_permission_id: permissionId,
    ...fields,
  });
  const role = await addRole(service, 'orders.read');
  const who = await addSignedIn(service, { roles: [role] });
  const sid = await takePart(service, application, who);
  const grantOf = async (offline: boolean): Promise<TestGrant> => {
    const grant = await addGrant(service, application, who, { offline, scopes });
    await service.sql('update access_grants set resources = $2 where id = $1', [
      grant.id,
      JSON.stringify(resources),
    ]);
    return grant;
  };
  const held = async (offline: boolean): Promise<Held> => {
    const grant = await grantOf(offline);
    const first = await exchange(service, application, grant);
    assert.equal(first.status, 200, first.text);
    const next = await refresh(service, application, first.body.refresh_token, { resource: RESOURCE });
    assert.equal(next.status, 200, next.text);
    return {
      grant,
      opaque: first.body.access_token,
      jwt: next.body.access_token,
      refresh: next.body.refresh_token,
    };
  };
  const world = {
    application,
    who,
    role,
    bound: await held(false),
    offline: await held(true),
    codes: [await grantOf(false), await grantOf(true)],
    interaction: interactionOf(await ask(who.client, application, { prompt: 'login' })),
    pushed: (
      await keepRequest(service.service.deps.db, {
        kind: 'pushed',
        applicationId: application.id,
        parameters: Object.fromEntries(
          new URLSearchParams(parametersOf(application, { scope: 'openid', prompt: 'none' })),
        ),
      })
    ).id,
    sid,
  };
  for (const one of [world.bound, world.offline])
    assert.deepEqual(await tokensLeft(ends, world, one), ['userinfo', 'introspection', 'JWT']);
  return world;
}

/** Returns where access tokens still count. */
async function tokensLeft({ twin }: Ends, { application }: World, { opaque, jwt }: Held): Promise<string[]> {
  const active = async (token: string): Promise<boolean> =>
    (await post(twin, 'introspect', application, { token })).body.active === true;
  const counts: [string, boolean][] = [
    ['userinfo', (await userinfo(twin, opaque)).status === 200],
    ['introspection', await active(opaque)],
    ['JWT', await active(jwt)],
  ];
  return counts.filter(([, does]) => does).map(([where]) => where);
}

/** What one is led to: an error, a page, a code or the page of an error. */
function leadsTo(answer: Answer): string {
  if (answer.status === 400) return 'error page';
  const { address, fields } = ledTo(answer);
  return fields.error ?? (fields.code === undefined ? new URL(address).pathname : 'code');
}

const everything = ['userinfo', 'introspection', 'JWT', 'refresh'];
/** What an end leaves at the other instance, for each column of the matrix. */
export type Left = {
  bound: readonly string[];
  offline: readonly string[];
  /** Answers to the exchange of both codes. */
  codes: readonly string[];
  /** What a signed-in browser is told with `prompt=none`. */
  browser: string;
  pushed: string;
  /** What a person who was led to a page has to do there; what going on leads to. */
  interaction: readonly [step: string | null, onward: string];
  /** Why the application is told that the session, or its access, has ended. */
  notices: readonly string[];
};

export const untouched: Left = {
  bound: everything,
  offline: everything,
  codes: ['issued', 'issued'],
  browser: 'code',
  pushed: 'code',
  interaction: ['reauthenticate', '/login'],
  notices: [],
};

/** Asks the other instance for everything. */
export async function whatIsLeft(ends: Ends, world: World): Promise<Left> {
  const { twin } = ends;
  const { application, who, codes, interaction, pushed } = world;
  const ofGrant = async (held: Held): Promise<string[]> => {
    const left = await tokensLeft(ends, world, held);
    const answer = await refresh(twin, application, held.refresh);
    assert.ok(answer.status < 500, answer.text);
    return answer.status === 200 ? [...left, 'refresh'] : left;
  };
  const redeem = async (grant: TestGrant): Promise<string> => {
    const answer = await exchange(twin, application, grant);
    return answer.status === 200 ? 'issued' : answer.body.error;
  };
  const browser = who.client.at(twin.url);
  const shown = await read(browser, interaction);
  const urn = `urn:ietf:params:oauth:request_uri:${pushed}`;
  const { client_id } = application;
  return {
    bound: await ofGrant(world.bound),
    offline: await ofGrant(world.offline),
    codes: [await redeem(codes[0] ?? assert.fail()), await redeem(codes[1] ?? assert.fail())],
    browser: leadsTo(await ask(browser, application, { prompt: 'none' })),
    pushed: leadsTo(
      await browser.get(`${AUTHORIZE}?${new URLSearchParams({ client_id, request_uri: urn })}`),
    ),
    interaction: [
      shown.status === 404 ? null : shown.body.data.step,
      leadsTo(await resume(browser, interaction)),
    ],
    notices: (await noticesTo(twin, application)).map(({ reason }) => reason),
  };
}
