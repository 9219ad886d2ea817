// The answer to a sign-in is remembered for the person who signed in, and nothing else is.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { rememberFor } from './preferences.ts';
import { keepNotice, noticing, readNotice } from './second-factor-notice.ts';

const stored = new Map<string, string>();
Object.assign(globalThis, {
  localStorage: {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  },
});
beforeEach(() => {
  stored.clear();
  rememberFor('ada');
});

const FROM = '2031-12-12T10:00:00Z';
const LOGIN = 'http://castellan.test/api/v1/auth/login';

const answer = async (url: string, data: object, init: RequestInit = { method: 'POST' }): Promise<unknown> =>
  (await noticing(async () => Response.json({ data }))(url, init)).json();

const noticed = { user: { id: 'ada' }, second_factor: { required_acr: 'aal2', enforced_from: FROM } };

for (const path of ['', '/second-factor', '/passkey'])
  test(`the answer of login${path} is remembered, and can still be read`, async () => {
    assert.deepEqual(await answer(`${LOGIN}${path}`, noticed), { data: noticed });
    assert.deepEqual(readNotice(), { enforced_from: FROM });
  });

test('it is not shown to another person', async () => {
  await answer(LOGIN, { ...noticed, user: { id: 'grace' } });
  assert.equal(readNotice(), null);
  rememberFor('grace');
  assert.deepEqual(readNotice(), { enforced_from: FROM });
});

test('a sign-in without a notice ends it', async () => {
  keepNotice({ enforced_from: FROM });
  await answer(LOGIN, { user: { id: 'ada' } });
  assert.equal(readNotice(), null);
});

test('other answers, and those without JSON, change nothing', async () => {
  keepNotice({ enforced_from: FROM });
  await answer('http://castellan.test/api/v1/auth/login/passkey/options', { user: { id: 'ada' } });
  const other = noticing(async () => new Response('no JSON'));
  assert.equal(await (await other(LOGIN, { method: 'POST' })).text(), 'no JSON');
  assert.deepEqual(readNotice(), { enforced_from: FROM });
});

test('a date that cannot be read is no notice', () => {
  keepNotice({ enforced_from: 'soon' });
  assert.equal(readNotice(), null);
});
