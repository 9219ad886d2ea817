// The migration that marks pending registrations: which older accounts the cleanup may still remove.
// It needs no service, only a database with the schema before the migration.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createEmptyDatabase } from '../empty-database.ts';

const folder = new URL('../../../migrations/', import.meta.url);
const MIGRATION = '0010-registrations.sql';

type Past = { verified?: boolean; superuser?: boolean; signedIn?: boolean; entries?: [string, object?][] };

const registered: [string] = ['user_registered'];
const pasts: Record<string, Past & { pending: boolean }> = {
  'registered, never verified': { entries: [registered], pending: true },
  'registered and renamed by an administrator': {
    entries: [registered, ['user_updated', { after: { first_name: 'Grace' } }]],
    pending: true,
  },
  'registered and verified': { verified: true, entries: [registered, ['email_verified']], pending: false },
  'registered, verified, then unverified': { entries: [registered, ['email_verified']], pending: false },
  'verified by an administrator and unverified again': {
    entries: [registered, ['user_updated', { after: { verified: false } }]],
    pending: false,
  },
  'signed in once': { entries: [registered], signedIn: true, pending: false },
  'a superuser': { superuser: true, entries: [registered], pending: false },
  'created by an administrator': { entries: [['user_created']], pending: false },
  'without any entry': { pending: false },
};

test('accounts with a recorded registration and no verification since are pending, no others', async (t) => {
  const { sql } = await createEmptyDatabase(t);
  for (const file of (await readdir(folder)).sort().filter((name) => name < MIGRATION))
    await sql(await readFile(new URL(file, folder), 'utf8'));
  for (const [name, past] of Object.entries(pasts)) {
    const id = randomUUID();
    await sql(
      `insert into users (id, email, first_name, last_name, verified, is_superuser) values ($1, $2, $3, 'X', $4, $5)`,
      [id, `${id}@example.com`, name, past.verified ?? false, past.superuser ?? false],
    );
    if (past.signedIn) await sql('insert into last_logins (user_id, logged_in_at) values ($1, now())', [id]);
    for (const [action, details = {}] of past.entries ?? [])
      await sql(
        "insert into audit_logs (id, action, resource_type, resource_id, details) values ($1, $2, 'user', $3, $4)",
        [randomUUID(), action, id, JSON.stringify(details)],
      );
  }
  await sql(await readFile(new URL(MIGRATION, folder), 'utf8'));
  const rows = await sql<{ first_name: string; pending_registration: boolean; version: number }>(
    'select first_name, pending_registration, version from users',
  );
  for (const { first_name: name, pending_registration: pending, version } of rows) {
    assert.equal(pending, pasts[name]?.pending, name);
    assert.equal(version, 1, 'the migration changes no ETag');
  }
  assert.equal(rows.length, Object.keys(pasts).length);
});
