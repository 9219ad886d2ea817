// Tests names and descriptions: every script is accepted, misleading and executable text is refused, nothing is
// escaped.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import fc from 'fast-check';
import { cleanText, type TextFault } from './text.ts';

const name = { max: 100, min: 1 };

describe('clean text', () => {
  const accepted: [input: string, expected?: string][] = [
    ["O'Brien"],
    ['Tom & Jerry'],
    ['a < b'],
    ['1 <2 > 0'],
    ['I <3 you'],
    ['a > b, "quoted", 100 %, \\, {{x}}, $x, &lt;b&gt;'],
    ['  Ann  Lee ', 'Ann  Lee'],
    ['\u3000Ann\u00a0', 'Ann'],
    ['Jose\u0301', 'José'],
    ['\u1109\u1165\u110b\u116e\u11af', '서울'],
    ['s\u0323\u0307', 'ṩ'],
    ['محمد بن سلمان'],
    ['יוסף (Joseph) כהן'],
    ['می\u200cخواهم'],
    ['a\u200e\u05d0\u200f\u061c'],
    ['👩‍👩‍👧‍👦 👍🏽 ❤️'],
    ['\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
    ['Nguyễn Thị Minh Khai'],
    ['ไทย हिन्दी 日本語'],
    ['a', 'a'],
    ['x'.repeat(100)],
    ['😀'.repeat(100)],
    ['e\u0301'.repeat(100), 'é'.repeat(100)],
    [`a${'\u0301'.repeat(30)}`, `á${'\u0301'.repeat(29)}`],
  ];
  for (const [input, expected] of accepted) {
    test(`${JSON.stringify(input.slice(0, 50))} is accepted`, () => {
      assert.deepEqual(cleanText(input, name), { ok: true, value: expected ?? input });
    });
  }

  const refused: [input: string, code: TextFault][] = [
    ['', 'too_short'],
    ['   ', 'too_short'],
    ['\u200d', 'too_short'],
    ['\u3164', 'too_short'],
    ['\u200e \u200f', 'too_short'],
    ['x'.repeat(101), 'too_long'],
    ['😀'.repeat(101), 'too_long'],
    ['x'.repeat(1e6), 'too_long'],
    ['Ann\0', 'control_character'],
    ['Ann\n', 'control_character'],
    ['\tAnn', 'control_character'],
    ['An\u001b[31mn', 'control_character'],
    ['Ann\u007f', 'control_character'],
    ['Ann\u0085', 'control_character'],
    ['Ann\u009b', 'control_character'],
    ['Ann\u2028Lee', 'control_character'],
    ['gpj.\u202eexe', 'control_character'],
    ['\u202aAnn\u202c', 'control_character'],
    ['\u2066Ann\u2069', 'control_character'],
    ['Ad\u200bmin', 'control_character'],
    ['Ad\u00admin', 'control_character'],
    ['Ad\u2060min', 'control_character'],
    ['\ufeffAdmin', 'control_character'],
    ['Ann\ud800', 'ill_formed'],
    ['\udc00Ann', 'ill_formed'],
    ['\ud83dAnn', 'ill_formed'],
    ['<script>alert(1)</script>', 'markup'],
    ['Ann<b>', 'markup'],
    ['</p', 'markup'],
    ['<\u212a>', 'markup'], // the Kelvin sign becomes K in NFC
    ['<!-- x', 'markup'],
    ['<?php', 'markup'],
    ['<IMG SRC=x onerror=alert(1)>', 'markup'],
    ['<svg/onload=alert(1)', 'markup'],
    ['a <<a', 'markup'],
    [`a${'\u0301'.repeat(32)}`, 'too_many_marks'],
    [`a${'\u0344'.repeat(30)}`, 'too_many_marks'],
  ];
  for (const [input, code] of refused) {
    test(`${JSON.stringify(input.slice(0, 50))} is refused as ${code}`, () => {
      const result = cleanText(input, name);
      assert.equal(result.ok ? 'accepted' : result.code, code);
      if (!result.ok) assert.match(result.message, /^must /);
    });
  }

  test('an empty text is accepted without a minimum; a minimum above 1 counts the length', () => {
    assert.deepEqual(cleanText('  ', { max: 10 }), { ok: true, value: '' });
    assert.equal(cleanText('ab', { max: 10, min: 3 }).ok, false);
    assert.equal(cleanText('abc', { max: 10, min: 3 }).ok, true);
  });

  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.string({
      unit: fc.constantFrom('<', 'a', ' ', '\u0301', '\u0344', '\u0338', '/', '\u200d', '\ud800', '\u2000'),
    }),
  );

  test('every result is NFC, trimmed, within its limits, free of tags and unchanged by a second pass', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 30 }), (input, max) => {
        const result = cleanText(input, { max, min: 1 });
        if (!result.ok) return;
        const { value } = result;
        assert.equal(value, value.normalize('NFC'));
        assert.equal(value, value.trim());
        assert.ok([...value].length >= 1 && [...value].length <= max);
        assert.doesNotMatch(value, /<[a-z/!?]/i);
        assert.deepEqual(cleanText(value, { max, min: 1 }), result);
      }),
      { numRuns: 3000 },
    );
  });

  test('a text is not too long because its characters were typed decomposed', () => {
    for (let codePoint = 0xa0; codePoint <= 0x10ffff; codePoint++) {
      const character = String.fromCodePoint(codePoint);
      const typed = character.normalize('NFD');
      if (typed === character || character.trim() === '') continue;
      assert.deepEqual(cleanText(typed, { max: [...typed.normalize('NFC')].length }), {
        ok: true,
        value: character.normalize('NFC'),
      });
    }
  });

  test('the worst input of a megabyte takes linear time', () => {
    const inputs: [input: (size: number) => string, isText: boolean][] = [
      [(size) => '\u0301'.repeat(size / 4) + '\u0316'.repeat(size / 4), false],
      [(size) => `${'\u0301'.repeat(30)}a`.repeat(size / 50), true],
      [(size) => '<'.repeat(size), true],
      [(size) => ' '.repeat(size), false],
      [(size) => `x${' '.repeat(size)}x`, true],
      [(size) => '\ud83d'.repeat(size), false],
    ];
    for (const [input, isText] of inputs) {
      const clean = (size: number) =>
        assert.equal(cleanText(input(size), { max: 2e6, min: 1 }).ok, isText, JSON.stringify(input(50)));
      assertLinear(JSON.stringify(input(50)), clean, 125_000);
    }
  });
});
