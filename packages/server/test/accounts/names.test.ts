// Names of people: every script is accepted and kept as given; markup and control characters are not accepted.
// The same rules hold for both operations that set a name: registration and the own profile.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { paths, registration } from '@castellan/testing/accounts/self-service';
import { createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { assertAnswered, assertFieldRefused } from './answers.ts';

const service = await startTestService({ after });
const client = await signIn(service, await createVerifiedUser(service));

type Field = 'first_name' | 'last_name';
const register = async (field: Field, name: string) =>
  service.client().post(paths.register, registration({ [field]: name }));
const ways = {
  registration: register,
  'the own profile': (field: Field, name: string) => client.put(paths.me, { [field]: name }),
};

const kept: [what: string, given: string, stored?: string][] = [
  ['an apostrophe', "O'Brien"],
  ['quotes, ampersand and backslash', 'Tom & "Jerry" \\ 50%'],
  ['a lone less-than sign', 'a < b <3'],
  ['an emoji with joiners', 'Ada 👩🏽‍💻'],
  ['a flag', '🇨🇭'],
  ['Hebrew', 'שלומית'],
  ['Arabic', 'محمد'],
  ['Persian with a non-joiner', 'می\u200cخواهم'],
  ['Japanese', '山田'],
  ['Devanagari', 'श्रीमान'],
  ['SQL', "Robert'); drop table users;--"],
  ['a template', '{{7*7}} #{x} %s'],
  ['one character', 'X'],
  ['a hundred characters', 'x'.repeat(100)],
  ['a hundred emoji, counted as characters', '🦊'.repeat(100)],
  ['decomposed letters, stored in NFC', 'Zoe\u0308 A\u030angstro\u0308m', 'Zoë Ångström'],
  ['a hundred letters that were decomposed', 'e\u0301'.repeat(100), 'é'.repeat(100)],
  ['white space around it, trimmed', '  Ada  ', 'Ada'],
];

const refused: [what: string, given: string][] = [
  ['only invisible characters', '\u200d\u200c'],
  ['a script tag', '<script>alert(1)</script>'],
  ['an image tag', 'Ada<img src=x onerror=alert(1)>'],
  ['an end tag', 'Ada</b>'],
  ['a comment', 'Ada<!-- -->'],
  ['a line break', 'Ada\nBcc: eve@example.com'],
  ['a carriage return', 'Ada\rLovelace'],
  ['a tab', 'Ada\tLovelace'],
  ['an escape sequence', 'Ada\u001b[31m'],
  ['a C1 control', 'Ada\u0085'],
  ['a right-to-left override', 'Ada\u202egpj.exe'],
  ['a zero-width space', 'Ada\u200bLovelace'],
  ['101 characters', 'x'.repeat(101)],
  ['101 emoji', '🦊'.repeat(101)],
];

for (const [way, send] of Object.entries(ways))
  for (const [what, given] of [
    ['nothing', ''],
    ['white space only', '   '],
  ] as const) {
    test(`by ${way} a last_name with ${what} is stored as an empty one`, async () => {
      const data = assertAnswered(await send('last_name', given), way === 'registration' ? 201 : 200);
      assert.equal(data.last_name, '');
    });
    test(`by ${way} a first_name with ${what} is 400`, async () => {
      assertFieldRefused(await send('first_name', given), 400, 'invalid_input', 'first_name');
    });
  }

for (const [way, send] of Object.entries(ways))
  for (const field of ['first_name', 'last_name'] as const) {
    for (const [what, given, stored = given] of kept)
      test(`by ${way} a ${field} with ${what} is stored unchanged`, async () => {
        const data = assertAnswered(await send(field, given), way === 'registration' ? 201 : 200);
        assert.equal(data[field], stored);
        const [row] = await service.sql(`select ${field} as name from users where id = $1`, [data.id]);
        assert.equal(row!.name, stored);
      });
    for (const [what, given] of refused)
      test(`by ${way} a ${field} with ${what} is 400`, async () => {
        assertFieldRefused(await send(field, given), 400, 'invalid_input', field);
      });
  }

test('two invalid names are both reported', async () => {
  const answer = await service
    .client()
    .post(paths.register, registration({ first_name: '<b>', last_name: '<i>' }));
  assert.equal(answer.status, 400);
  const again = await client.put(paths.me, { first_name: '<b>', last_name: '\u0007' });
  assert.deepEqual(
    again.body.errors.map((one: { field: string }) => one.field),
    ['first_name', 'last_name'],
  );
});
