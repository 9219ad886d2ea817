// What stands in an address and fits nothing is dropped: no list asks the service for it, breaks, or complains.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { exampleRecords, heading, openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after });
const nobody = randomUUID();
const long = 'ä'.repeat(400);

/** Everything that any list has in its address. */
const names = [
  [
    'q',
    'f',
    'page',
    'size',
    'sort',
    'status',
    'role',
    'roles',
    'verified',
    'is_active',
    'removal_within_hours',
    'attribute',
  ],
  ['user', 'tab', 'g', 'group', 'permission', 'other', 'view', 'address', 'older_than', 'compare', 'holders'],
  [
    'permissions',
    'is_builtin',
    'actor',
    'type',
    'target',
    'action',
    'result',
    'from',
    'to',
    'entry',
    'account',
    'delivery',
    'state',
  ],
].flat();
const all = (value: string): string => `${new URLSearchParams(names.map((name) => [name, value]))}`;

const hostile = {
  garbage: all('garbage'),
  'negative numbers': all('-1'),
  'days that no calendar has': all('2026-02-31'),
  markup: all('<b>"\'%&'),
  'a long text': `q=${long}&f=${long}&address=1&sort=${long}`,
  'names given twice': 'page=1&page=-5&size=25&size=7&sort=email&sort=foo',
  'broken escapes': 'q=%E0%A4%A&size=%ZZ&__proto__=1&constructor=2',
};
const lists = [
  '/users',
  '/roles',
  '/matrix',
  '/role-groups',
  '/permissions',
  '/sessions',
  '/audit',
  '/service-accounts',
  '/applications',
  '/api-resources',
  '/user-attributes',
  '/settings',
  '/webhooks',
  (await exampleRecords(site))('/webhooks/:id'),
];

for (const [what, search] of Object.entries(hostile))
  test(`${what} in the address`, async (t) => {
    // Only an address of another kind is explained: at its field, with the refusal of the service.
    const isExplained = (path: string): boolean => path === '/sessions' && search.includes('address=');
    const { page } = await openAs(t, site, '/account', { expected: ['422'] });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    for (const path of lists) {
      await page.goto(`${path}?${search}`);
      await heading(page).waitFor();
      await page.waitForLoadState('networkidle');
      assert.equal(await page.getByText('This page failed').count(), 0, path);
      if (isExplained(path)) await page.locator('[aria-invalid="true"]').first().waitFor();
      else assert.deepEqual(refused, [], path);
      refused.length = 0;
    }
  });

test('a person whom nobody is does not break the filters', async (t) => {
  const { page } = await openAs(t, site, `/audit?actor=${nobody}&target=${nobody}`);
  await page.getByRole('button', { name: `Remove the filter Actor: ${nobody}` }).waitFor();
  await page.getByText('Nothing matches these filters.').waitFor();
  await page.goto(`/access?user=${nobody}&view=holders`);
  await heading(page).waitFor();
  await page.goto(`/sessions?user=${nobody}`);
  await page.getByText('Nothing matches these filters.').waitFor();
});

test('a number of rows that the list does not offer is that of the person', async (t) => {
  const { page } = await openAs(t, site, '/users?size=7');
  const size = page.getByLabel('Rows per page');
  await size.waitFor();
  assert.equal(await size.inputValue(), '50');
});
