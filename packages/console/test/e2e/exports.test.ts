// Every export of the service as CSV begins with exactly one byte order mark, which the service sends because it was asked to.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after });
const { service } = site;
const role = await addRole(service, 'audit_log.read');
await addPerson(service, { firstName: 'Zoë', lastName: 'Ünal', roles: [role] });
const [permission] = await service.sql<{ id: string }>(
  "select id from permissions where name = 'audit_log.read'",
);

const fromMenu = (item: string) => async (page: Page) => {
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
};
const fromButton = (page: Page) => page.getByRole('button', { name: 'Export CSV' }).click();

const exports: readonly { what: string; path: string; act: (page: Page) => Promise<void>; marks: number }[] =
  [
    { what: 'the audit log', path: '/audit', act: fromMenu('As CSV'), marks: 1 },
    { what: 'the audit log as NDJSON', path: '/audit', act: fromMenu('As NDJSON'), marks: 0 },
    {
      what: 'who holds a permission',
      path: '/access?view=holders&permission=audit_log.read',
      act: fromMenu('As CSV'),
      marks: 1,
    },
    {
      what: 'the holders of a permission in its pane',
      path: `/permissions?permission=${permission?.id}`,
      act: fromButton,
      marks: 1,
    },
    { what: 'who has a role', path: `/roles/${role}?tab=users`, act: fromButton, marks: 1 },
  ];

for (const { what, path, act, marks } of exports)
  test(`${what} is a file with ${marks} byte order marks`, async (t) => {
    const { page } = await openAs(t, site, path);
    const [download, request] = await Promise.all([
      page.waitForEvent('download'),
      page.waitForRequest(/\/export\?/),
      act(page),
    ]);
    assert.equal(new URL(request.url()).searchParams.get('bom'), 'true');
    const text = await readFile(await download.path(), 'utf8');
    assert.equal(text.split('\uFEFF').length - 1, marks, text.slice(0, 40));
    assert.equal(text.startsWith('\uFEFF'), marks === 1, text.slice(0, 40));
    if (path !== '/audit') assert.ok(text.includes('Zoë Ünal'), text);
  });
