// The German texts of errors are complete.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { errorCatalogue } from '@castellan/contract/errors';
import { connectionFieldTexts } from './connection-field-texts.ts';
import { errorTexts } from './errors.ts';
import { fieldTexts } from './field-texts.ts';

const allFieldTexts = { ...fieldTexts, ...connectionFieldTexts };

test('every error code has a German text, and no other has one', () => {
  assert.deepEqual(Object.keys(errorTexts).sort(), Object.keys(errorCatalogue).sort());
});

/** Of refused passwords, which reach a form as reasons; `passwordTexts` has their texts, which the compiler checks. */
const passwordCodes = new Set([
  'breached',
  'common',
  'repeated_run',
  'reused',
  'sequential_run',
  'too_common',
  'too_weak',
]);

/** No list has the codes of field errors: the sources name each as a literal, except those of the formats of input. */
async function fieldCodesOfService(): Promise<Set<string>> {
  const contract = dirname(fileURLToPath(import.meta.resolve('@castellan/contract/errors')));
  const server = join(dirname(fileURLToPath(import.meta.resolve('@castellan/server/start'))), 'src');
  const codes = new Set<string>();
  for await (const file of glob([`${server}/**/*.ts`, `${contract}/**/*.ts`])) {
    // The verdicts of imports are read from a file, never shown at a form.
    if (file.endsWith('.test.ts') || file.includes('/modules/transfer/')) continue;
    const source = readFileSync(file, 'utf8');
    for (const [, code = ''] of source.matchAll(/\bcode: '([a-z_]+)'/g)) codes.add(code);
    for (const [, code = ''] of source.matchAll(/\b(?:refused|fault)\(\s*'([a-z_]+)',/g)) codes.add(code);
    for (const [, code = ''] of source.matchAll(/\brefusal\(\s*[^,()]+(?:\([^()]*\))?,\s*'([a-z_]+)',/g))
      codes.add(code);
    // A list of faults: what to look for, its code, and the message.
    if (file.endsWith('/applications/addresses.ts'))
      for (const [, code = ''] of source.matchAll(/,\s*'([a-z_]+)',\s*'must /g)) codes.add(code);
    for (const [, format = ''] of source.matchAll(/\bformat: '(uuid|date-time)'/g))
      codes.add(`invalid_${format.replaceAll('-', '_')}`);
  }
  return codes;
}

test('every code that a field error can have has a German text, and no other has one', async () => {
  const codes = await fieldCodesOfService();
  assert.ok(codes.size >= 30, `found ${codes.size} codes`);
  const missing = [...codes].filter(
    (code) => !allFieldTexts[code] && !errorTexts[code] && !passwordCodes.has(code),
  );
  assert.deepEqual(missing, []);
  assert.deepEqual(
    Object.keys(allFieldTexts).filter((code) => !codes.has(code)),
    [],
  );
});

test('texts of errors are sentences, those of fields are parts of one', () => {
  for (const [code, text] of Object.entries(errorTexts)) assert.match(text, /^\p{Lu}.*\.$/u, code);
  for (const [code, text] of Object.entries(allFieldTexts)) assert.match(text, /^\p{Ll}.*[^.]$/u, code);
});
