import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasRepeatedMember } from './repeated-members.ts';

test('finds a member that is named twice, at any depth and in any spelling', () => {
  for (const json of [
    '{"a":1,"a":2}',
    '{"a":1,"b":[{"c":{}},{"c":1,"d":"}","c":2}]}',
    '{"sub":"x","s\\u0075b":"y"}',
    '{"a\\"":1,"b":{"a\\"":1},"a\\"":2}',
    '{"":1, "" : 2}',
    '[{"a":1},{"a":1,"a":1}]',
  ])
    assert.equal(hasRepeatedMember(json), true, json);
});

test('takes equal names in different objects, and texts that look like members', () => {
  for (const json of [
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    '{"a":"\\"a\\":1,","b":"a","c":"{\\"c\\":1}"}',
    '["a","a"]',
    '{"a":["a","a"],"b":"b"}',
    '{}',
  ])
    assert.equal(hasRepeatedMember(json), false, json);
});
