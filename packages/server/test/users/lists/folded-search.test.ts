// Searches find names however they are typed: without accents, in another order, with other apostrophes, as an international
// domain. What is found literally is tested with the lists.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

const pathOf = (text: string): string => `/api/v1/users?size=100&search=${encodeURIComponent(text)}`;
const search = async (text: string): Promise<string[]> => {
  const { status, body } = await admin.get(pathOf(text));
  assert.equal(status, 200, text);
  return body.data.items.map(({ id }: { id: string }) => id);
};

const people: [name: [first: string, last: string], found: string[], missed: string[]][] = [
  [
    ['José', 'Núñez'],
    ['jose', 'JOSÉ', 'nunez jose', 'Nuñez', 'jose\u0301', 'é z', 'ñ'],
    ['josh', 'nunes', 'josé xq'],
  ],
  [
    ['Hans', 'Straße'],
    ['strasse', 'STRASSE', 'Straße', 'hans, strasse', 'ß'],
    ['strase', 'hansstrasse'],
  ],
  [
    ['Ada', 'Byron'],
    ['Byron Ada', 'Byron, Ada', 'byron,ada', 'Bý ádä', 'yron da', ',byron,,'],
    ['byronada', 'adabyron'],
  ],
  [['Seán', 'O’Neil'], ["o'neil", 'O’NEIL', 'oʼneil', "sean o'", '’n'], ['oneil']],
  [['Shaquille', "O'Neal"], ['o’neal', "O'NEAL", 'ʼne'], ['oneal']],
  [['Łukasz', 'Ødegård'], ['lukasz', 'odegard lukasz', 'ødegaard'.slice(0, 5)], ['lucasz']],
  [['İpek', 'Işık'], ['ipek', 'isik', 'IŞIK'], ['ypek']],
  [['Σίσυφος', 'Παπάς'], ['σισυφοσ', 'ΣΊΣΥΦΟΣ', 'παπας'], ['σισιφος']],
  [['Jean‑Luc', 'Æther'], ['jean-luc', 'aether', 'Jean–Luc'], ['jeanluc']],
  [['Nguyễn', 'Thị Ánh'], ['nguyen', 'thi anh', 'anh nguyễn'], ['nguyeen']],
  [
    ['Ｆｕｌｌ', '１００％ ﬁne'],
    ['full', '100%', 'fine'],
    ['10_%', 'f%e', '１__％', 'ﬁ％', 'ﬁ＿e', '１００＼％'],
  ],
  [['Áine', 'O´Shea'], ["o'shea", 'O’Shea', 'aine o´s'], ['oshea']],
  [['דוד', 'בן־גוריון'], ['בן-גוריון', 'בן‑גוריון דוד'], ['בןגוריון']],
  [["D'Arcy", 'Quill'], ['d´arcy', 'D´ARCY quill', '´a'], ['´q']],
  [['שָׁלוֹם', 'Shin'], ['שלום'], ['שלוום']],
];

for (const [[firstName, lastName], found, missed] of people)
  test(`${firstName} ${lastName} is found as people type it, and as nothing else`, async () => {
    const { id } = await addPerson(service, { firstName, lastName, email: newEmail('folded') });
    for (const text of found) assert.ok((await search(text)).includes(id), text);
    for (const text of missed) assert.ok(!(await search(text)).includes(id), text);
  });

test('an international domain is found in both spellings, with what is before it', async () => {
  const { id } = await addPerson(service, { email: 'joerg.b@mail.xn--mnchen-3ya.example' });
  for (const text of [
    'münchen',
    'MÜNCHEN.example',
    'joerg.b@mail.münchen.example',
    'B@mail.München',
    'xn--mnchen-3ya',
    '@mail.xn--mn',
    'mu\u0308nchen.example lovelace',
  ])
    assert.deepEqual(await search(text), [id], text);
  for (const text of ['b@münchen.example', 'joerg@mail.münchen.example', 'münster'])
    assert.deepEqual(await search(text), [], text);
});

test('a text of marks, blanks or commas finds what contains it, and not everything', async () => {
  const { id } = await addPerson(service, { firstName: 'Comma,', lastName: 'x\u0301y' });
  assert.deepEqual(await search(','), [id]);
  assert.deepEqual(await search(', ,'), []);
  assert.deepEqual(await search('\u0301'), [id]);
  assert.deepEqual(await search('\u0301\u0301\u0301\u0301'), []);
  // Folded, nothing or a blank is left of each.
  for (const text of [
    '\u05bf',
    '\u05bf\u05bf\u05bf',
    '\u05c0',
    '\u20f5',
    '\u1aff\u1aff\u1aff',
    '¨',
    '¸',
    '￣',
    '\ufc5e',
    '\ufe70',
  ])
    assert.deepEqual(await search(text), [], `U+${text.codePointAt(0)?.toString(16)}`);
  assert.ok((await search(' \u00a0 ')).length > 1, 'a blank search is none');
});

test('a search of many words is one of eight conditions: what follows the seventh is one text', async () => {
  const { id } = await addPerson(service, {
    firstName: 'One Two Three Four',
    lastName: 'Five Six Seven Eight Nine',
  });
  assert.deepEqual(await search('seven six five four three two one eight nine'), [id]);
  assert.deepEqual(await search('seven six five four three two one nine eight'), []);
  assert.deepEqual(await search('a '.repeat(125)), []);
});

test('a whole name of many words finds itself, with its commas, but no text spans name and email', async () => {
  const lastName = 'Ten Eleven Twelve Thirteen, Fourteen - Fifteen, Sixteen';
  const { id, email } = await addPerson(service, { firstName: 'Nine', lastName, email: newEmail('whole') });
  assert.deepEqual(await search(`Nine ${lastName}`), [id]);
  assert.deepEqual(await search(`Nine ${lastName} ${email}`.replace('Fifteen, ', '')), []);
  assert.deepEqual(await search(`a b c d e f g sixteen\n${email}`), []);
  assert.deepEqual(await search(`nine ten nine ten nine ten nine sixteen\n${email}`), []);
});

test('sessions and service accounts are found in the same way', async () => {
  const person = await addPerson(service, { firstName: 'Zoë', lastName: 'Čapek' });
  await signIn(service, person);
  const sessions = await admin.get('/api/v1/sessions?search=capek%2C%20zoe');
  assert.deepEqual(
    sessions.body.data.map(({ user }: { user: { id: string } }) => user.id),
    [person.id],
  );
  const account = await addServiceAccount(service, { name: 'Zürich – Nightly' });
  for (const text of ['nightly zurich', 'ZÜRICH', 'rich - n'])
    assert.deepEqual(
      (await admin.get(`/api/v1/service-accounts?search=${encodeURIComponent(text)}`)).body.data.map(
        ({ id }: { id: string }) => id,
      ),
      [account.id],
      text,
    );
});

test('folding an ASCII text leaves it in lower case, and folding twice changes nothing', async () => {
  const ascii = Array.from({ length: 127 }, (_, index) => String.fromCharCode(index + 1)).join('');
  const [row] = await service.sql<{ folded: string }>('select fold_text($1) as folded', [ascii]);
  assert.equal(row?.folded, ascii.toLowerCase());
  const mistakes = await service.sql(
    `select n from generate_series(1, 65535) n where n not between 55296 and 57343
       and fold_text(fold_text(chr(n))) <> fold_text(chr(n))`,
  );
  assert.deepEqual(mistakes, []);
});

test('among many users, indexes find the few who match, folded or not', async () => {
  await service.sql(
    `insert into users (id, email, first_name, last_name)
     select gen_random_uuid(), 'many-' || n || '@example.com', case when n % 2 = 0 then 'Mány' else 'Many' end,
       case n when 7 then 'Quíxote' when 8 then 'Quixote' when 9 then 'Wž' else 'Person' || md5(n::text) end
     from generate_series(1, 20000) n`,
  );
  await service.sql('vacuum analyze users');
  for (const [text, count, indexes] of [
    ['quixote', 2, ['users_folded_text_idx', 'users_search_text_idx']],
    ['Quíxote', 2, ['users_folded_text_idx', 'users_search_text_idx']],
    ['xote, many', 2, ['users_folded_text_idx', 'users_search_text_idx']],
    ['wz', 1, ['users_folded_parts_idx', 'users_short_parts_idx']],
    // Nearly all have the long word.
    ['example wz', 1, ['users_folded_parts_idx', 'users_short_parts_idx']],
    ['wž person example', 0, ['users_folded_parts_idx', 'users_short_parts_idx']],
  ] as const) {
    const explained = await plansOf(service, () => admin.get(pathOf(text)));
    const used = new Set(explained.flatMap(({ steps }) => steps.map(({ index }) => index)));
    for (const index of indexes) assert.ok(used.has(index), `${text}: ${[...used]}`);
    assert.equal((await search(text)).length, count, text);
  }
  const explained = await plansOf(service, () => admin.get('/api/v1/sessions?search=example%20wz'));
  const used = new Set(explained.flatMap(({ steps }) => steps.map(({ index }) => index)));
  assert.ok(used.has('users_short_parts_idx'), `sessions: ${[...used]}`);
});
