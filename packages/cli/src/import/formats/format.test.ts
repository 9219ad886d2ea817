// Whether the accounts that other systems have blocked stay blocked, however their exports write it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formats } from './index.ts';

const columns = { auth0: 'blocked', firebase: 'disabled', logto: 'is_suspended', 'better-auth': 'banned' };
// JSON, `\copy` of PostgreSQL, SQLite and MySQL, CSV of spreadsheets.
const blocked = [true, 'true', 't', 1, '1', 'TRUE', 'True', 'yes', 'unheard-of'];
const free = [undefined, null, '', false, 'false', 'f', 0, '0', 'FALSE', 'no'];

for (const [name, column] of Object.entries(columns))
  test(`${name}: who is blocked there is not active here`, async () => {
    const reader = await formats.get(name)?.open(undefined);
    for (const [values, isActive] of [
      [blocked, false],
      [free, true],
    ] as const)
      for (const value of values)
        assert.equal(reader?.({ [column]: value }).is_active, isActive, JSON.stringify(value));
  });
