// Tests the password rules with tables and properties.
// It must not measure time: the tests on long inputs show that only a bounded part is read.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PasswordRuleCode, passwordRuleCodes } from '@castellan/contract/auth';
import fc from 'fast-check';
import { readBannedWords } from './banned-words.ts';
import { brokenRules, type PasswordDemands, passwordRules } from './policy.ts';

const off = { policy: 'spec' as const, bannedWords: readBannedWords(''), hasBreachFile: false };
const demands = { ...off, minLength: 12, minStrength: 3, score: 4, isBreached: false };
const codes = (password: string, other: Partial<PasswordDemands> = {}) =>
  brokenRules(password, { ...demands, ...other }).map((rule) => rule.code);

const order: PasswordRuleCode[] = [
  'too_short',
  'too_long',
  'missing_uppercase',
  'missing_lowercase',
  'missing_digit',
  'missing_special',
  'too_common',
  'common',
  'breached',
  'sequential_run',
  'repeated_run',
  'too_weak',
];
const optionalRules: PasswordRuleCode[] = ['common', 'breached'];

// Keeps every rule; the tables vary one part of it.
const good = 'Vexing#Quartz82Lime';

describe('whole passwords', () => {
  const table: [password: string, broken: PasswordRuleCode[]][] = [
    ['QaRegisterPass!47', []],
    ['ReplacementPassword!42', []],
    [good, []],
    ['Vexing \u00a0\u202fQuartz82Lime#', ['repeated_run']],
    ['password', ['too_short', 'missing_uppercase', 'missing_digit', 'missing_special', 'too_common']],
    ['Short1!', ['too_short', 'too_common']],
    ['SecurePassword123!', ['sequential_run']],
    ['', ['too_short', 'missing_uppercase', 'missing_lowercase', 'missing_digit', 'missing_special']],
    [
      ' '.repeat(12),
      ['missing_uppercase', 'missing_lowercase', 'missing_digit', 'missing_special', 'repeated_run'],
    ],
    ['Pässwörter gehören zu 7 Zwergen!', []],
    ['Быстрая#лиса82бежит', []],
  ];
  for (const [password, broken] of table) {
    test(`${JSON.stringify(password)} breaks ${broken.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(codes(password), broken);
    });
  }

  test('every broken rule is reported once, in order', () => {
    assert.deepEqual(
      codes(`aaaabc${' '.repeat(1_000_000)}`, { score: 0 }),
      order.filter(
        (code) => !['too_short', 'missing_lowercase', 'too_common', ...optionalRules].includes(code),
      ),
    );
    assert.deepEqual(codes('111111', { score: 0 }), [
      'too_short',
      'missing_uppercase',
      'missing_lowercase',
      'missing_special',
      'too_common',
      'repeated_run',
      'too_weak',
    ]);
  });
});

describe('length', () => {
  // 126 code points without a run of three.
  const long = 'aB3$eF7!'.repeat(16).slice(0, 126);
  const table: [name: string, password: string, broken: PasswordRuleCode[]][] = [
    ['128 code points', `${long}xy`, []],
    ['129 code points', `${long}xyx`, ['too_long']],
    ['128 code points of two units each', `${'🦊🐻'.repeat(62)}aB3$`, []],
    ['129 code points that compose to 128', `${long}xe\u0301`, []],
    ['512 code points that compose to 128', `${'\u1f82\u1f83'.normalize('NFD').repeat(62)}aB3$`, []],
    ['11 code points of two units each', `${'🦊🐻'.repeat(4)}aB3`, ['too_short']],
    ['12 code points that compose to 11', 'Ab3$vexinge\u0301', ['too_short']],
  ];
  for (const [name, password, broken] of table) {
    test(`${name}: ${broken[0] ?? 'accepted'}`, () => assert.deepEqual(codes(password), broken));
  }

  test('the minimum comes from the setting, and the message contains it', () => {
    assert.deepEqual(codes('aB3$eF7!', { minLength: 8 }), []);
    assert.match(brokenRules('aB3$eF7', { ...demands, minLength: 8 })[0]!.message, /at least 8 characters/);
  });

  test('no code point decomposes into more than four, as the limit on the part that is read assumes', () => {
    let most = 0;
    for (let point = 0; point <= 0x10ffff; point += 1) {
      most = Math.max(most, Array.from(String.fromCodePoint(point).normalize('NFD')).length);
    }
    assert.equal(most, 4);
  });

  test('only the first 1,024 units of a very long input are read', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1_025, maxLength: 1_500, unit: 'binary' }),
        fc.string(),
        (start, rest) => {
          assert.deepEqual(codes(start.slice(0, 1_025) + rest), codes(start.slice(0, 1_025)));
        },
      ),
    );
    assert.deepEqual(codes(`${good}${'\u0301\u0323'.repeat(1_000_000)}`), ['too_long', 'repeated_run']);
  });
});

describe('kinds of characters', () => {
  const table: [part: string, kind: PasswordRuleCode, counts: boolean][] = [
    ['Q', 'missing_uppercase', true],
    ['Ж', 'missing_uppercase', true],
    ['ǅ', 'missing_uppercase', false],
    ['漢', 'missing_uppercase', false],
    ['ß', 'missing_lowercase', true],
    ['漢', 'missing_lowercase', false],
    ['٣', 'missing_digit', true],
    ['½', 'missing_digit', false],
    ['Ⅷ', 'missing_digit', false],
    ['_', 'missing_special', true],
    ['§', 'missing_special', true],
    ['€', 'missing_special', true],
    ['🦊', 'missing_special', true],
    ['½', 'missing_special', true],
    [' ', 'missing_special', false],
    ['\u00a0', 'missing_special', false],
    ['\t', 'missing_special', false],
    ['\0', 'missing_special', false],
    ['\u200d', 'missing_special', false],
    ['\ud800', 'missing_special', false],
    ['漢', 'missing_special', false],
    ['٣', 'missing_special', false],
    ['क\u093f', 'missing_special', false],
  ];
  for (const [part, kind, counts] of table) {
    test(`${JSON.stringify(part)} ${counts ? 'satisfies' : 'does not satisfy'} ${kind}`, () => {
      assert.equal(codes(part).includes(kind), !counts);
    });
  }
});

describe('common passwords', () => {
  const table: [password: string, common: boolean][] = [
    ['dragon', true],
    ['DrAgOn', true],
    ['Dragon!', true],
    ['Dragon2031!!', true],
    ['Dragon#8§4 ½€', true],
    ['Trustno1', true],
    ['Trustno1!?', true],
    ['1qaz2wsx', true],
    ['1qaz2wsx$$', true],
    ['1qaz2wsx3edc4rfv', true],
    ['momsanaladventure', true],
    ['123456!!', true],
    [`Dragon${'7!'.repeat(50)}`, true],
    ['!Dragon', false],
    ['Dragonwort-82', false],
    ['Dragön', false],
    ['Dragon\u0301', false],
    ['98217!44', false],
    ['!!!!', false],
    ['', false],
    // Begins with the listed "198", but digits are not removed from a number.
    ['198574839203847', false],
    [good, false],
  ];
  for (const [password, common] of table) {
    test(`${JSON.stringify(password)} is ${common ? '' : 'not '}common`, () => {
      assert.equal(codes(password).includes('too_common'), common);
    });
  }
});

describe('banned words', () => {
  const bannedWords = readBannedWords('Acme, Müller & Söhne\nStraße,web3\r\n');
  const table: [password: string, banned: boolean][] = [
    ['acme', true],
    ['AcMe', true],
    ['Acme-2031!', true],
    ['!!2031acme', true],
    ['4cm3', true],
    ['@CME#2031', true],
    ['A.c.m.e 2031', true],
    ['a(me99', true],
    ['äcmé2031', true],
    ['AcmeAcme7', true],
    ['Acme+Straße!7', true],
    ['Muller&Sohne', true],
    ['MuellerSoehne1', true],
    ['5tr4sse!', true],
    ['Web3-Web3', true],
    ['Acmeville2031', false],
    ['myacme2031', false],
    ['acme Quartz', false],
    ['acm2031', false],
    ['20312031', false],
    ['', false],
    [good, false],
  ];
  for (const [password, banned] of table) {
    test(`${JSON.stringify(password)} is ${banned ? '' : 'not '}banned`, () => {
      assert.equal(codes(password, { bannedWords }).includes('common'), banned);
      assert.equal(codes(password).includes('common'), false);
    });
  }

  test('a list with a word of two letters, or with too many words, is refused without naming one', () => {
    for (const text of ['acme,qx', `${'x'.repeat(101)}`, 'acme,!!!'])
      assert.throws(
        () => readBannedWords(text),
        /^Error: has a word, number [12], that is too short or too long/,
      );
    assert.throws(() => readBannedWords('word,'.repeat(1_001)), /^Error: has 1001 words/);
  });

  test('a thousand words and the longest password take bounded time', () => {
    const many = readBannedWords(Array.from({ length: 1_000 }, (_, i) => `a1${i}`.padEnd(100, 'a')).join());
    assert.equal(codes('4'.repeat(1_024), { bannedWords: many }).includes('common'), false);
  });
});

describe('leaked passwords', () => {
  test('break a separate rule, if there is a breach file', () => {
    assert.deepEqual(codes(good, { hasBreachFile: true, isBreached: true }), ['breached']);
    assert.deepEqual(codes(good, { hasBreachFile: true }), []);
  });
});

describe('nist', () => {
  const nist = { policy: 'nist', minLength: 15 } as const;
  const table: [password: string, broken: PasswordRuleCode[]][] = [
    ['plain words without a digit', []],
    ['abcdefg hij 111 222', []],
    ['fourteen chars', ['too_short']],
    ['password', ['too_short', 'too_common']],
  ];
  for (const [password, broken] of table) {
    test(`${password} breaks ${broken.join(', ') || 'nothing'}`, () =>
      assert.deepEqual(codes(password, nist), broken));
  }
});

describe('runs', () => {
  const table: [part: string, kind: 'sequential_run' | 'repeated_run', found: boolean][] = [
    ['abc', 'sequential_run', true],
    ['cba', 'sequential_run', true],
    ['aBc', 'sequential_run', true],
    ['xyz', 'sequential_run', true],
    ['012', 'sequential_run', true],
    ['987', 'sequential_run', true],
    ['--hij--', 'sequential_run', true],
    ['aabcc', 'sequential_run', true],
    ['12321', 'sequential_run', true],
    ['bcba', 'sequential_run', true],
    ['ab', 'sequential_run', false],
    ['aba', 'sequential_run', false],
    ['abab', 'sequential_run', false],
    ['abdc', 'sequential_run', false],
    ['aabbcc', 'sequential_run', false],
    ['ace', 'sequential_run', false],
    ['yza', 'sequential_run', false],
    ['890', 'sequential_run', false],
    ['a1b2c3', 'sequential_run', false],
    ['+,-', 'sequential_run', false],
    ['@ab', 'sequential_run', false],
    ['/01', 'sequential_run', false],
    ['yz{', 'sequential_run', false],
    ['aaa', 'repeated_run', true],
    ['x!!!x', 'repeated_run', true],
    ['   ', 'repeated_run', true],
    ['🦊🦊🦊', 'repeated_run', true],
    ['\u00e9e\u0301\u00e9', 'repeated_run', true],
    ['aa', 'repeated_run', false],
    ['aaAaa', 'repeated_run', false],
    ['aabaa', 'repeated_run', false],
    ['🦊🦊', 'repeated_run', false],
  ];
  for (const [part, kind, found] of table) {
    test(`${JSON.stringify(part)} ${found ? 'has' : 'has no'} ${kind}`, () => {
      assert.equal(codes(part).includes(kind), found);
    });
  }
});

describe('strength', () => {
  test('a score below the minimum, or NaN, breaks the rule', () => {
    assert.deepEqual(codes(good, { score: 3 }), []);
    assert.deepEqual(codes(good, { score: 2 }), ['too_weak']);
    assert.deepEqual(codes(good, { score: Number.NaN }), ['too_weak']);
    assert.deepEqual(codes(good, { score: 0, minStrength: 0 }), []);
  });
});

describe('the list of rules', () => {
  const limits = { ...off, minLength: 12, minStrength: 3, historyCount: 5 };

  test('names every rule of the contract once, in the order of refusals, history last', () => {
    const all = { ...limits, bannedWords: readBannedWords('acme'), hasBreachFile: true };
    const listed = passwordRules(all).map(({ code }) => code);
    assert.deepEqual(listed, [...order, 'reused']);
    assert.deepEqual(listed.toSorted(), passwordRuleCodes.toSorted());
  });

  test('has the messages of refusals, for any limits', () => {
    for (const minLength of [8, 128]) {
      const messages = new Map(
        passwordRules({ ...limits, minLength }).map(({ code, message }) => [code, message]),
      );
      for (const password of ['', 'x'.repeat(200), 'abc', 'password'])
        for (const { code, message } of brokenRules(password, { ...demands, minLength, score: 0 }))
          assert.equal(messages.get(code), message);
    }
  });

  test('leaves out the strength rule if the minimum is 0', () => {
    const listed = passwordRules({ ...limits, minStrength: 0 }).map(({ code }) => code);
    const without: PasswordRuleCode[] = ['too_weak', ...optionalRules];
    assert.deepEqual(listed, [...order.filter((code) => !without.includes(code)), 'reused']);
  });

  test('with nist, none is about kinds of characters or runs', () => {
    assert.deepEqual(
      passwordRules({ ...limits, policy: 'nist' }).map(({ code }) => code),
      ['too_short', 'too_long', 'too_common', 'too_weak', 'reused'],
    );
  });

  test('has parameters with which a client decides as the service does', () => {
    const rules = passwordRules(limits);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 140 }), (password) => {
        const text = password.normalize('NFC');
        const broken = codes(password);
        for (const { code, parameters } of rules) {
          const { pattern, min_length, max_length } = parameters;
          if (pattern !== undefined)
            assert.equal(broken.includes(code), !new RegExp(pattern, 'u').test(text), code);
          if (min_length !== undefined) assert.equal(broken.includes(code), [...text].length < min_length);
          if (max_length !== undefined) assert.equal(broken.includes(code), [...text].length > max_length);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('any input', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
    fc.string({ maxLength: 200 }),
    fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '2', '3', '!', 'A', '\u0301') }),
  );

  test('never throws, and reports each code at most once, in order, with a sentence', () => {
    fc.assert(
      fc.property(anything, fc.integer({ min: 0, max: 4 }), (password, score) => {
        const broken = brokenRules(password, { ...demands, score });
        assert.deepEqual(
          broken.map((rule) => rule.code),
          order.filter((code) => broken.some((rule) => rule.code === code)),
        );
        for (const { message } of broken) assert.match(message, /^[A-Z].*\.$/);
      }),
      { numRuns: 1_000 },
    );
  });

  test('all Unicode spellings of one text break the same rules', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 130 }), (password) => {
        assert.deepEqual(codes(password.normalize('NFD')), codes(password.normalize('NFC')));
      }),
      { numRuns: 1_000 },
    );
  });

  test('a common password with digits and symbols after it is still common', () => {
    const tail = fc.string({ unit: fc.constantFrom(...'0123456789!?#$ -_'), maxLength: 100 });
    fc.assert(fc.property(tail, (rest) => assert.ok(codes(`Football${rest}`).includes('too_common'))));
  });
});
