// Callers of the AuthZEN API for its tests: requests with a bearer token and nothing else, as other services send them.
// It must not judge answers.
import type { Answer, TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';

const root = '/api/v1/access/v1';

export type Ask = {
  (path: string, body: unknown): Promise<Answer>;
  /** The same caller at another instance. */
  at(url: string): Ask;
};

/** Returns a caller who sends this token or API key. */
export function asking(service: Pick<TestService, 'client'>, token: string | null): Ask {
  const client = service.client();
  client.accessToken = token;
  return askThrough(client);
}

function askThrough(client: TestClient): Ask {
  const ask = (path: string, body: unknown) =>
    client.request('POST', `${root}/${path}`, {
      raw: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-csrf-token': null },
    });
  return Object.assign(ask, { at: (url: string) => askThrough(client.at(url)) });
}

/** Returns an evaluation: may the subject do what the permission names? The last dot separates group and action. */
export function question(type: string, id: string, permission: string) {
  const dot = permission.lastIndexOf('.');
  return {
    subject: { type, id },
    action: { name: permission.slice(dot + 1) },
    resource: { type: permission.slice(0, dot), id: 'any' },
  };
}
