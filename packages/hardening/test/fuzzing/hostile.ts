// Hostile values: texts, types, numbers at their limits, keys of prototypes.
// It must not know an operation.

import listed from 'big-list-of-naughty-strings' with { type: 'json' };
import fc, { type Arbitrary } from 'fast-check';

/** The Big List of Naughty Strings, and strings that it lacks. */
export const naughtyStrings: readonly string[] = [
  ...new Set([
    ...listed,
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\udfffb',
    '\udc00\ud800',
    '\u0085\u009b31m',
    '\u2028\u2029',
    '\u202eevil\u202c',
    '\ufeffbom',
    'a\r\nSet-Cookie: refresh_token=stolen',
    'a\nBcc: eve@example.com',
    '\r\n\r\n<html>',
    '../../../../etc/passwd',
    '%2e%2e%2f%00',
    '$'.concat('{jndi:ldap://127.0.0.1/a}'),
    "' or 1=1 --",
    "'; drop table users; --",
    "\\'; select pg_sleep(20); --",
    '%',
    '_',
    '*',
    '\\',
    '(a+)+$',
    '{"$gt":""}',
    '[object Object]',
    '__proto__',
    'constructor',
    'hasOwnProperty',
    '\u{1d4d0}\u{1f9d9}\u{10ffff}',
    '\ufdd0\uffff',
    `Z${'\u0335'.repeat(500)}`,
    '\u0130\u0131\u212a\u017f\u00df\u1e9e',
    '٣٤٥',
    '\u0391dmin \u0430dmin \uff41dmin',
  ]),
];

// One of each sort: astral, lone surrogate, combining, bidirectional, zero width, right to left, NUL, C0, C1,
// look-alikes, specials of SQL, LIKE, regular expressions, HTML, shells, headers, paths.
const characters = [
  ...'aZ09 .-_@%*\\/\'"<>&;:=?#{}[]()|^$`~!,+',
  '\0',
  '\t',
  '\r',
  '\n',
  '\u001b',
  '\u007f',
  '\u0085',
  '\u009b',
  '\u00a0',
  '\u00ad',
  '\u0301',
  '\u0430',
  '\u05d0',
  '\u0645',
  '\u200b',
  '\u200d',
  '\u200f',
  '\u2028',
  '\u202e',
  '\u2066',
  '\u212a',
  '\u0130',
  '\u0131',
  '\u00df',
  '\ufeff',
  '\uff20',
  '\ufffd',
  '\uffff',
  '\ud800',
  '\udfff',
  '\u{1d400}',
  '\u{1f468}\u200d\u{1f469}',
  '\u{e0041}',
  '\u{10ffff}',
];

/** Up to 60 characters of all sorts. */
export const hostileText: Arbitrary<string> = fc.oneof(
  fc.string({ unit: fc.constantFrom(...characters), maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  // Single UTF-16 units: most surrogate pairs are broken.
  fc
    .array(fc.integer({ min: 0xd000, max: 0xe000 }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
);

/**
 * Returns texts that slow a validator down if any do: runs of letters, marks, joiners, white space, brackets, escapes.
 */
export const longTexts = (length: number): string[] =>
  ['x', '\u0301', '\u200d', ' ', '<', '\\', '%', '.', '@a', '(a+', '\u{1f9d9}', '\ufdfa', '\0', '\ud800'].map(
    (unit) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length),
  );

/** Raw JSON, because some of it is not the output of any JavaScript value. */
export const oddJson: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1',
  '-1',
  '1.5',
  '0.1e1',
  '1e400',
  '-1e400',
  '5e-324',
  '2147483647',
  '2147483648',
  '-2147483649',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '123456789012345678901234567890123456789012345678901234567890',
  '""',
  '"1"',
  '"true"',
  '"null"',
  '"00000000-0000-0000-0000-000000000000"',
  '"ffffffff-ffff-ffff-ffff-ffffffffffff"',
  '"{00000000-0000-4000-8000-000000000000}"',
  '"00000000000040008000000000000000"',
  '"9999-12-31T23:59:60Z"',
  '"0000-01-01T00:00:00Z"',
  '"-infinity"',
  '[]',
  '[null]',
  '[[]]',
  '[{}]',
  '["x","x"]',
  `[${'0,'.repeat(1_500)}0]`,
  '{}',
  '{"length":1000000000}',
  '{"0":"a","length":1}',
  '{"toString":1,"valueOf":2,"toJSON":3}',
  '{"$ne":null}',
  '{"then":"x"}',
];

/** Keys of properties that every object has. */
export const prototypeKeys: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__defineGetter__',
  'then',
  'constructor.prototype',
  '__proto__.is_superuser',
];

/** Values for such a key, as raw JSON: they would grant rights if a prototype took them. */
export const prototypeValues: readonly string[] = [
  '{"is_superuser":true,"verified":true,"is_active":true,"permissions":["users.update"]}',
  '{"prototype":{"is_superuser":true}}',
  '{"__proto__":{"is_superuser":true}}',
  '["is_superuser"]',
  'null',
  '"is_superuser"',
  '1',
];
