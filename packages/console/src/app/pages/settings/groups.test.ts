// The groups are the sections of the configuration page, with the same titles and the same settings.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { settings } from '../../messages/en/settings.ts';
import { groupNames, groupOf } from './groups.ts';

const page = readFileSync(new URL('../../../../../../docs/configuration.md', import.meta.url), 'utf8');

test('every documented setting is in the group of its section, and every group is a section', () => {
  const sections = page
    .split(/^## /m)
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')),
      names: [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name = '']) => name),
    }))
    .filter(({ names }) => names.length > 0);
  assert.ok(sections.flatMap(({ names }) => names).length > 40);
  assert.deepEqual(
    sections.map(({ title }) => title),
    groupNames.filter((name) => name !== 'other').map((name) => settings.groups[name]),
  );
  for (const { title, names } of sections)
    for (const name of names) assert.equal(settings.groups[groupOf(name)], title, name);
  assert.equal(groupOf('SOMETHING_NEW'), 'other');
});
