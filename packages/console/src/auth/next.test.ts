// After a sign-in, nobody is led to another site.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathAfterSignIn } from './next.ts';

const origin = 'https://accounts.example.com';
const after = (next: string): string =>
  pathAfterSignIn(`?${new URLSearchParams({ next })}`, origin, '/overview');

test('a path of this origin is kept, with its query', () => {
  assert.equal(after('/users?q=a%20b&page=2'), '/users?q=a%20b&page=2');
  assert.equal(after('/base/users#x'), '/base/users#x');
  assert.equal(after('/roles/../users?next=//evil.example'), '/users?next=//evil.example');
  assert.equal(after('/users//x'), '/users//x');
});

test('everything else leads to the start', () => {
  for (const next of [
    '',
    'users',
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n\\evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    ' //evil.example',
    '///evil.example',
    '/..//evil.example/x',
    '/.//evil.example/x',
    '/%2e//evil.example/x',
    '/%2E%2E//evil.example/x',
    '/.%2e//evil.example/x',
    '/users/..//evil.example/x',
    '/users/../..//evil.example/x',
    '/.\t//evil.example/x',
    '/.\t./\n/evil.example/x',
    '/..\\\\evil.example/x',
    '/./\\evil.example/x',
    '/..//evil.example:8443/x',
    '/..//user@evil.example/x',
    '/..//[',
  ])
    assert.equal(after(next), '/overview', JSON.stringify(next));
  assert.equal(pathAfterSignIn('', origin, '/overview'), '/overview');
});
