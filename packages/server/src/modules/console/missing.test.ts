import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import { pageMeant } from './missing.ts';

test('an address that was changed on its way means a page', () => {
  for (const [url, page] of [
    ['/verify-email%23token=aB', '/verify-email#token=aB'],
    ['/verify-email%2523token%3DaB', '/verify-email#token%3DaB'],
    ['/VERIFY-EMAIL%23TOKEN=aB', '/verify-email#TOKEN=aB'],
    ['/verify-email/', '/verify-email'],
    ['/reset/%23token=aB', '/reset#token=aB'],
    ['/Reset', '/reset'],
    ['/forgot.', '/forgot'],
    ['/forgot%3E', '/forgot'],
    ['/forgot).', '/forgot'],
    ['/users/?q=Ada%23B', '/users?q=Ada%23B'],
    ['//', '/'],
    ['/roles//', '/roles'],
    ['/login/%23/../x', '/login#/../x'],
  ] as const)
    assert.equal(pageMeant(url), page, url);
});

test('other addresses mean no page', () => {
  for (const url of [
    '/nonsense',
    '/api/v1/xyz',
    '/users/me',
    '//evil.example',
    '//evil.example/',
    '//evil.example/login',
    '/..//evil.example',
    '/\\evil.example',
    '/users/new/x',
    '/roles/0197C1/',
    '/%ff',
  ])
    assert.equal(pageMeant(url), undefined, url);
});

test('a long hostile address is read in linear time', () => {
  for (const one of ['/', '.', '%2F', '%25'])
    assertLinear(
      `an address of ${one}`,
      (size) => {
        assert.equal(pageMeant(`/a${one.repeat(size)}a?${'#'.repeat(size)}`), undefined);
      },
      20_000,
    );
});
