// What the suites of authorization requests share: a browser that has the cookie of its session, and requests of an application.
import { createHash } from 'node:crypto';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newVerifier, REDIRECT, type TestApplication } from '../fixture.ts';

export type Sent = { [name: string]: string | undefined };
/** One verifier for all requests of a suite. */
export const verifier = newVerifier();
const challenge = createHash('sha256').update(verifier).digest('base64url');

/** Returns the parameters of a request that is in order. Undefined leaves one out. */
export const parametersOf = (application: TestApplication, changed: Sent = {}): string => {
  const all: Sent = {
    client_id: application.client_id,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'openid email',
    state: 's',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...changed,
  };
  const pairs = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(pairs).toString();
};

export const AUTHORIZE = '/api/v1/oauth/authorize';

export const ask = (client: TestClient, application: TestApplication, changed: Sent = {}): Promise<Answer> =>
  client.get(`${AUTHORIZE}?${parametersOf(application, changed)}`);

/** Where an answer leads, with the parameters of that address. */
export function ledTo(answer: Answer): { address: string; fields: Record<string, string> } {
  const location = answer.headers.get('location') ?? '';
  const mark = location.indexOf('?');
  return {
    address: mark < 0 ? location : location.slice(0, mark),
    fields: Object.fromEntries(new URLSearchParams(mark < 0 ? '' : location.slice(mark + 1))),
  };
}

/** Returns the id of the interaction that an answer leads to. */
export const interactionOf = (answer: Answer): string => ledTo(answer).fields.interaction ?? '';

export const resume = (client: TestClient, id: string): Promise<Answer> =>
  client.get(`${AUTHORIZE}?interaction=${id}`);

export const act = (client: TestClient, id: string, name: string, body: object = {}): Promise<Answer> =>
  client.post(`/api/v1/oauth/interactions/${id}/${name}`, body);

export const read = (client: TestClient, id: string): Promise<Answer> =>
  client.get(`/api/v1/oauth/interactions/${id}`);
