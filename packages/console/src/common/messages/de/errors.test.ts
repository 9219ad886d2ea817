// The German texts of errors are complete.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCatalogue } from '@castellan/contract/errors';
import { errorTexts, fieldTexts } from './errors.ts';

test('every error code has a German text, and no other has one', () => {
  assert.deepEqual(Object.keys(errorTexts).sort(), Object.keys(errorCatalogue).sort());
});

test('texts of errors are sentences, those of fields are parts of one', () => {
  for (const [code, text] of Object.entries(errorTexts)) assert.match(text, /^\p{Lu}.*\.$/u, code);
  for (const [code, text] of Object.entries(fieldTexts)) assert.match(text, /^\p{Ll}.*[^.]$/u, code);
});
