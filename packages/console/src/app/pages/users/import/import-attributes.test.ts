// Attributes in the rows of an import.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UserAttribute } from '@castellan/sdk';
import { attributeColumns, readAttributes } from './import-attributes.ts';

const attribute = (name: string, type: UserAttribute['type'], required = false): UserAttribute => ({
  id: name,
  name,
  label: `The ${name}`,
  description: '',
  type,
  values: null,
  max_length: null,
  unique: false,
  searchable: false,
  self: 'none',
  required,
  claims: false,
  sensitive: false,
  created_at: '',
  updated_at: '',
  created_by_id: null,
});
const team = attribute('team', 'string', true);
const all = [team, attribute('floor', 'integer'), attribute('prefs', 'json')];

test('columns and JSON together make the values, each of its type; a column wins', () => {
  const cells = {
    attributes: '{"team": "Red", "prefs": {"a": 1}}',
    'attributes.team': ' Blue ',
    'attributes.floor': '3',
    'attributes.prefs': '',
  };
  assert.deepEqual(readAttributes(cells, all), { values: { team: 'Blue', floor: 3, prefs: { a: 1 } } });
  assert.deepEqual(attributeColumns(['email', 'attributes.team', 'attributes', 'attribute']), [
    'attributes.team',
    'attributes',
  ]);
});

test('a required attribute without a value is told by its label', () => {
  for (const cells of [{}, { 'attributes.team': '  ' }, { attributes: '{"team": null}' }])
    assert.deepEqual(readAttributes(cells, all), { problem: 'attributeMissing', detail: 'The team' });
});

test('what is not declared, and what is no JSON, is told by its name', () => {
  assert.deepEqual(readAttributes({ 'attributes.teem': 'x', attributes: '{"flor": 1}' }, all), {
    problem: 'attributeUnknown',
    detail: 'flor, teem',
  });
  for (const text of ['{', '[]', 'null', '"x"'])
    assert.deepEqual(readAttributes({ attributes: text }, all), {
      problem: 'attributeJson',
      detail: 'attributes',
    });
  assert.deepEqual(readAttributes({ 'attributes.prefs': '{' }, all), {
    problem: 'attributeJson',
    detail: 'attributes.prefs',
  });
});
