// The checklist says of each rule what the service would say of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenRules, passwordRules } from '@castellan/server/modules/passwords/policy';
import { stateOf } from './password-rules.ts';

const limits = {
  policy: 'spec' as const,
  bannedWords: new Map([['a', [['a', 'c', 'm', 'e']]]]),
  hasBreachFile: true,
  minLength: 12,
  minStrength: 3,
  historyCount: 5,
};
const rules = passwordRules(limits);

const passwords = [
  'short',
  'Correct!Horse9Battery',
  'abcDEF!4567890',
  'Xcba-Zyx-9182-Qw',
  'aaa bbb CCC 111!',
  'aabbccDD!!22qw',
  'ÄÖÜßéñ!7 Ωmega Kilo',
  'e\u0301e\u0301e\u0301 Combined 7!',
  '😀😀😀 Emoji word 9!',
  'NoDigitsHere!!Qw',
  `${'Ab3!'.repeat(40)}`,
  '٣٤٥ Arabic Digits!',
  'No\u00a0 \u202fBreak 7 Ab!',
];

test('a rule that is checked in the page has the result of the service', () => {
  for (const password of passwords) {
    const broken = new Set(
      brokenRules(password, { ...limits, score: 4, isBreached: false }).map(({ code }) => code),
    );
    for (const rule of rules) {
      const state = stateOf(rule, password);
      if (state === 'later') continue;
      assert.equal(state, broken.has(rule.code) ? 'open' : 'met', `${rule.code} of ${password}`);
    }
  }
});

test('only the service checks what is common, weak or used before', () => {
  const later = rules.filter((rule) => stateOf(rule, 'Correct!Horse9Battery') === 'later');
  assert.deepEqual(
    later.map(({ code }) => code),
    ['too_common', 'common', 'breached', 'too_weak', 'reused'],
  );
});

test('a refusal marks its rules, and nothing is met before something is typed', () => {
  const [first] = rules;
  assert.ok(first);
  assert.equal(stateOf(first, 'Correct!Horse9Battery', [first.message]), 'broken');
  assert.deepEqual(
    rules.filter((rule) => stateOf(rule, '') === 'met'),
    [],
  );
});
