// A start whose database user lacks a privilege: the defaults differ between versions of PostgreSQL.
// It must create its role itself, and drop it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { startChild } from '@castellan/testing/start/child';
import { emptyDatabase, onServer, refusal } from './refusal.ts';

const SECRET_KEY = '6/wsor6QSjg3iUCVjLBZf2UOep3X69fQVyD3OI/eDFh/0IOPLuTM7c8YdzoP2x7G';

test('a start refuses a database user who may not create tables, and names the missing privilege', async (t) => {
  const url = await emptyDatabase(t);
  const name = new URL(url).pathname.slice(1);
  // Since PostgreSQL 15 only the owner of a database may create tables in it by default.
  await onServer(`create role ${name}_low login password 'x'`);
  atEnd(t, () => onServer(`drop role ${name}_low`));
  const low = new URL(url);
  low.username = `${name}_low`;
  low.password = 'x';
  const line = await refusal(startChild(t, { DATABASE_URL: low.href, SECRET_KEY }));
  assert.match(line, /permission denied.*grant it CREATE/);
});
