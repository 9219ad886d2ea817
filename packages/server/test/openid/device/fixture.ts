// What the suites of devices share: a device that asks and polls, and a person who types its code and answers.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';
import { act } from '../authorize/fixture.ts';
import { post, type TestApplication } from '../fixture.ts';

export type Device = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
};

export const askForDevice = (
  service: TestService,
  application: TestApplication,
  fields: Record<string, string> = { scope: 'openid email' },
): Promise<Answer> =>
  post(service, 'device_authorization', application, fields, { 'user-agent': 'TV/1.0 (test)' });

export async function begin(
  service: TestService,
  application: TestApplication,
  fields?: Record<string, string>,
): Promise<Device> {
  const answer = await askForDevice(service, application, fields);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

export const poll = (
  service: TestService,
  application: TestApplication,
  { device_code }: Pick<Device, 'device_code'>,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> =>
  post(
    service,
    'token',
    application,
    { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code, ...fields },
    headers,
  );

export const type = (client: TestClient, userCode: string): Promise<Answer> =>
  client.post('/api/v1/oauth/device', { user_code: userCode });

/** Returns the interaction in which the person of this client answers. */
export async function lookUp(client: TestClient, { user_code }: Pick<Device, 'user_code'>): Promise<string> {
  const answer = await type(client, user_code);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data.interaction_id;
}

export const allow = (client: TestClient, id: string, body: object = {}): Promise<Answer> =>
  act(client, id, 'consent', { decision: 'allow', ...body });

/** Begins on a device, and allows it. */
export async function allowed(
  service: TestService,
  application: TestApplication,
  client: TestClient,
  fields?: Record<string, string>,
): Promise<Device> {
  const device = await begin(service, application, fields);
  const answer = await allow(client, await lookUp(client, device));
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.body.data.redirect_to, /\/device\?result=allowed$/);
  return device;
}

/** Lets the time pass that a device waits between two requests for tokens. */
export const wait = (service: TestService): Promise<unknown> =>
  service.sql(`update device_requests set polled_at = polled_at - make_interval(secs => interval_seconds)`);
