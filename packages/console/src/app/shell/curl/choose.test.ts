// Which requests the palette offers as curl commands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SentRequest } from '../../../common/recent-requests.ts';
import { chooseRequests } from './choose.ts';

const ORIGIN = 'https://id.example.com';
const sent = (method: string, path: string, page = '/users'): SentRequest => ({
  page,
  method,
  url: `${ORIGIN}${path}`,
  ifMatch: null,
  body: undefined,
});
const chosen = (requests: readonly SentRequest[], page = '/users', tag: string | null = 'users'): string[] =>
  chooseRequests(requests, page, tag).map(({ method, url }) => `${method} ${url.slice(ORIGIN.length)}`);

test('what the page reads comes first, with its latest filters, before what it reads besides', () => {
  assert.deepEqual(
    chosen([
      sent('GET', '/api/v1/roles'),
      sent('GET', '/api/v1/users?status=locked'),
      sent('GET', '/api/v1/users?status=active'),
      sent('GET', '/api/v1/sessions', '/sessions'),
    ]),
    ['GET /api/v1/users?status=locked', 'GET /api/v1/roles'],
  );
});

test('the last write comes before it, from whatever page, and previews are none', () => {
  assert.deepEqual(
    chosen([
      sent('POST', '/api/v1/access/changes?dry_run=true'),
      sent('GET', '/api/v1/users'),
      sent('DELETE', '/api/v1/roles/1', '/roles/1'),
      sent('POST', '/api/v1/roles', '/roles'),
    ]),
    ['DELETE /api/v1/roles/1', 'GET /api/v1/users'],
  );
});

test('a question with a body is a read', () => {
  assert.deepEqual(chosen([sent('POST', '/api/v1/access/explain', '/access')], '/access', 'access'), [
    'POST /api/v1/access/explain',
  ]);
  assert.deepEqual(chosen([]), []);
});
