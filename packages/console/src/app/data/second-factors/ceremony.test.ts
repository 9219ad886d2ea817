// Why a browser refused a passkey is told also in a build, which shortens the names of classes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authenticate, ceremonyFailure, register } from './ceremony.ts';

/** An error as the library throws it, after the build. */
class E extends Error {
  readonly code: string;

  constructor(name: string, code: string) {
    super('From the library.');
    this.name = name;
    this.code = code;
  }
}

test('what browsers and the library throw is told apart', () => {
  const told = (error: unknown) => ceremonyFailure(error);
  assert.equal(told(new E('NotAllowedError', 'ERROR_PASSTHROUGH_SEE_CAUSE_PROPERTY')), 'nothing');
  assert.equal(told(new E('AbortError', 'ERROR_CEREMONY_ABORTED')), 'nothing');
  assert.equal(told(new E('InvalidStateError', 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED')), 'registered');
  assert.equal(told(new E('SecurityError', 'ERROR_INVALID_RP_ID')), 'failed');
  assert.equal(told(new DOMException('No.', 'NotReadableError')), 'failed');
});

test('refusals of the service and other failures are not the browser', () => {
  assert.equal(ceremonyFailure(new E('CastellanError', 'passkey_refused')), null);
  assert.equal(ceremonyFailure(new TypeError('No.')), null);
  assert.equal(ceremonyFailure(null), null);
});

test('once its dialog has closed, nothing is asked of the browser', async () => {
  const gone = AbortSignal.abort();
  const options = { challenge: 'AAAA' } as never;
  for (const ask of [register, authenticate])
    await assert.rejects(ask(options, gone), (error) => ceremonyFailure(error) === 'nothing');
});
