// Tests the form of WebAuthn responses: members, types, and one spelling of every byte string.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAuthenticator } from '@castellan/testing/passkeys/authenticator';
import fc from 'fast-check';
import { isAssertionShape, isRegistrationShape } from './passkey-json.ts';

const authenticator = createAuthenticator({ rpId: 'example.com', origin: 'https://example.com' });
const registration = authenticator.register({
  challenge: 'AAAA',
  user: { id: 'AAAA' },
  authenticatorSelection: { residentKey: 'required' },
});
const assertion = authenticator.assert({ challenge: 'AAAA' });

type Change = [name: string, change: (copy: Record<string, unknown>) => void];

/** Returns a change of the member at `path`; undefined removes it. */
function set(path: string, value: unknown): Change {
  const names = path.split('.');
  const last = names.pop() ?? '';
  const change = (copy: Record<string, unknown>) => {
    // biome-ignore lint/suspicious/noExplicitAny: the paths are those of the responses above
    const parent = names.reduce((inner: any, name) => inner[name], copy);
    if (value === undefined) delete parent[last];
    else parent[last] = value;
  };
  const shown = value === undefined ? 'without' : `= ${JSON.stringify(value)?.slice(0, 40)}`;
  return [`${path} ${shown}`, change];
}

function changed(value: object, [, change]: Change): unknown {
  const copy: Record<string, unknown> = structuredClone({ ...value });
  change(copy);
  return copy;
}

/** Other texts for the same bytes, texts that are no base64url, and values that are no text. */
function badTexts(text: string): unknown[] {
  const spare = `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`;
  const withSpareBits = Buffer.from(spare, 'base64url').toString('base64url') === spare ? [] : [spare];
  return [
    ...withSpareBits,
    `${text}=`,
    ` ${text}`,
    `${text}\n`,
    `${text}+`,
    `${text}/`,
    'é',
    '',
    null,
    1,
    {},
    [],
  ];
}

const both: Change[] = [
  set('id', undefined),
  set('rawId', undefined),
  set('id', 'AAAA'),
  set('rawId', 'AAAA'),
  set('type', undefined),
  set('type', 'password'),
  set('type', ['public-key']),
  set('response', undefined),
  set('response', null),
  set('response', []),
  set('clientExtensionResults', undefined),
  set('clientExtensionResults', null),
  set('clientExtensionResults', []),
  set('response.clientDataJSON', undefined),
  ...badTexts(assertion.response.clientDataJSON).map((text) => set('response.clientDataJSON', text)),
];

const noObjects = [undefined, null, true, 1, '', 'text', [], [assertion], {}, Object.create(null), () => {}];

describe('isAssertionShape', () => {
  test('accepts a response, with and without a user handle', () => {
    assert.equal(isAssertionShape(assertion), true);
    assert.equal(isAssertionShape(changed(assertion, set('response.userHandle', undefined))), true);
  });

  test('ignores what a later version adds', () => {
    for (const path of ['authenticatorAttachment', 'response.more', 'clientExtensionResults.appid'])
      assert.equal(isAssertionShape(changed(assertion, set(path, 'platform'))), true, path);
  });

  const rows = [
    ...both,
    set('response.authenticatorData', undefined),
    set('response.signature', undefined),
    ...badTexts(assertion.response.authenticatorData).map((text) => set('response.authenticatorData', text)),
    ...badTexts(assertion.response.signature).map((text) => set('response.signature', text)),
    ...badTexts('AAAAAAAAAAAAAAAAAAAAAA').map((text) => set('response.userHandle', text)),
  ];
  test('refuses a response with one wrong member', () => {
    for (const row of rows) assert.equal(isAssertionShape(changed(assertion, row)), false, row[0]);
  });

  test('refuses equal ids that are not canonical', () => {
    for (const id of badTexts(assertion.id))
      assert.equal(isAssertionShape({ ...assertion, id, rawId: id }), false, JSON.stringify(id));
  });

  test('refuses anything else', () => {
    for (const value of [...noObjects, registration]) assert.equal(isAssertionShape(value), false);
    fc.assert(fc.property(fc.anything(), (value) => !isAssertionShape(value)));
  });
});

describe('isRegistrationShape', () => {
  test('accepts a response, with and without what browsers may leave out', () => {
    assert.equal(isRegistrationShape(registration), true);
    for (const path of ['response.transports', 'clientExtensionResults.credProps'])
      assert.equal(isRegistrationShape(changed(registration, set(path, undefined))), true, path);
    assert.equal(
      isRegistrationShape(changed(registration, set('clientExtensionResults.credProps', {}))),
      true,
    );
  });

  const rows = [
    ...both,
    set('response.attestationObject', undefined),
    ...badTexts(registration.response.attestationObject).map((text) =>
      set('response.attestationObject', text),
    ),
    set('response.transports', 'usb'),
    set('response.transports', null),
    set('response.transports', ['usb', 1]),
    set('clientExtensionResults.credProps', null),
    set('clientExtensionResults.credProps', []),
    set('clientExtensionResults.credProps', true),
    set('clientExtensionResults.credProps.rk', 'true'),
    set('clientExtensionResults.credProps.rk', null),
  ];
  test('refuses a response with one wrong member', () => {
    for (const row of rows) assert.equal(isRegistrationShape(changed(registration, row)), false, row[0]);
  });

  test('refuses anything else', () => {
    for (const value of [...noObjects, assertion]) assert.equal(isRegistrationShape(value), false);
    fc.assert(fc.property(fc.anything(), (value) => !isRegistrationShape(value)));
  });
});
