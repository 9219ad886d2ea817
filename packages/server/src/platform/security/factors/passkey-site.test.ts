import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUsableRpId, passkeySiteOf, readPasskeyOrigin, readRpId } from './passkey-site.ts';

const siteOf = (publicUrl: string, more: Partial<Parameters<typeof passkeySiteOf>[0]> = {}) =>
  passkeySiteOf({ publicUrl, passkeyOrigins: [], passkeyFormerRpIds: [], ...more });

test('passkeys need https and a host with a name; localhost and names below it may use http', () => {
  for (const [url, isFit] of [
    ['https://accounts.example.com', true],
    ['https://accounts.example.com:8443/path', true],
    ['http://localhost:8000', true],
    ['http://accounts.localhost', true],
    ['https://localhost', true],
    ['http://accounts.example.com', false],
    ['http://localhost.example.com', false],
    ['https://192.0.2.7', false],
    ['https://127.1', false],
    ['http://127.0.0.1:8000', false],
    ['https://[::1]', false],
  ] as const)
    assert.equal(siteOf(url).isFit, isFit, url);
});

test('by default, the RP ID is the host and the only origin that of the address', () => {
  const site = siteOf('https://accounts.example.com/sign-in');
  assert.deepEqual(site, {
    rpId: 'accounts.example.com',
    formerRpIds: [],
    origins: ['https://accounts.example.com'],
    isFit: true,
    coversHost: true,
    publishesOrigins: false,
  });
});

test('an RP ID covers its host and the hosts below it; one label covers itself only', () => {
  const url = 'https://accounts.example.com';
  for (const [passkeyRpId, coversHost] of [
    ['example.com', true],
    ['accounts.example.com', true],
    ['ample.com', false],
    ['old.example', false],
    ['com', false],
  ] as const)
    assert.equal(siteOf(url, { passkeyRpId }).coversHost, coversHost, passkeyRpId);
});

test('the origins are published for another RP ID, for former ones and for further origins', () => {
  const url = 'https://accounts.example.com';
  assert.equal(siteOf(url, { passkeyRpId: 'example.com' }).publishesOrigins, true);
  assert.equal(siteOf(url, { passkeyFormerRpIds: ['old.example'] }).publishesOrigins, true);
  const more = siteOf(url, { passkeyOrigins: ['https://app.example.com', url] });
  assert.deepEqual([more.publishesOrigins, more.origins], [true, [url, 'https://app.example.com']]);
});

test('passkeys of the present RP ID and of former ones can be used, at an address that has passkeys', () => {
  const former = { passkeyFormerRpIds: ['old.example', 'new.example'] };
  const site = siteOf('https://new.example', former);
  assert.deepEqual(site.formerRpIds, ['old.example']);
  for (const [rpId, isUsable] of [
    ['new.example', true],
    ['old.example', true],
    ['other.example', false],
  ] as const)
    assert.equal(isUsableRpId(site, rpId), isUsable, rpId);
  assert.equal(isUsableRpId(siteOf('http://new.example', former), 'new.example'), false);
});

test('an RP ID is a domain alone', () => {
  assert.equal(readRpId('Example.COM'), 'example.com');
  assert.equal(readRpId('münchen.example'), 'xn--mnchen-3ya.example');
  assert.equal(readRpId('localhost'), 'localhost');
  for (const wrong of [
    'https://example.com',
    'example.com:443',
    'example.com/',
    'example.com.',
    '192.0.2.7',
    '0x7f.1',
    '[::1]',
    'a b',
    'ex@mple.com',
    '%65xample.com',
    '..',
  ])
    assert.throws(() => readRpId(wrong), /write a domain such as example\.com/, wrong);
});

test('an origin is scheme, host and port alone', () => {
  assert.equal(readPasskeyOrigin('https://App.example.com'), 'https://app.example.com');
  assert.equal(readPasskeyOrigin('https://app.example.com:443/'), 'https://app.example.com');
  assert.equal(readPasskeyOrigin('http://localhost:5173'), 'http://localhost:5173');
  for (const wrong of [
    'app.example.com',
    'http://app.example.com',
    'https://app.example.com/path',
    'https://app.example.com?x',
    'https://user@app.example.com',
    'https://192.0.2.7',
    'https://[::1]',
    'ftp://app.example.com',
    'https://',
  ])
    assert.throws(() => readPasskeyOrigin(wrong), /write origins such as/, wrong);
});
