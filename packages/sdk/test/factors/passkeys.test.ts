// The dialogs for passkeys, over a browser that a test answers for.
import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { CastellanError } from '../../src/index.ts';
import { passkeys, supportsConditional, supportsPasskeys } from '../../src/passkeys.ts';
import type { AuthCalls } from '../../src/session/auth-calls.ts';

type Asked = { mediation?: string; publicKey: { challenge: ArrayBuffer }; signal: AbortSignal };
type Answer = (asked: Asked) => Promise<unknown>;

const REQUEST = {
  challenge: 'AQID',
  rpId: 'example.com',
  timeout: 300_000,
  userVerification: 'required',
} as const;
const bytes = (text: string) => new TextEncoder().encode(text).buffer;
const credential = {
  id: 'aWQ',
  rawId: bytes('id'),
  type: 'public-key',
  authenticatorAttachment: 'platform',
  response: {
    clientDataJSON: bytes('{}'),
    authenticatorData: bytes('data'),
    signature: bytes('sign'),
    userHandle: bytes('user'),
  },
  getClientExtensionResults: () => ({}),
};
const ASSERTION = {
  id: 'aWQ',
  rawId: 'aWQ',
  type: 'public-key',
  response: {
    clientDataJSON: 'e30',
    authenticatorData: 'ZGF0YQ',
    signature: 'c2lnbg',
    userHandle: 'dXNlcg',
  },
  clientExtensionResults: {},
};

const failing =
  (name: string): Answer =>
  async () => {
    throw new DOMException('no', name);
  };
/** Ends as a browser does when it is told to. */
const waiting: Answer = ({ signal }) =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new DOMException('ended', 'AbortError'))),
  );

/** Makes this process a browser that answers in turn, the last answer for ever. Returns what it was asked. */
function browser(...answers: Answer[]): { asked: Asked[]; forgotten: unknown[] } {
  const asked: Asked[] = [];
  const forgotten: unknown[] = [];
  const get = (options: Asked) => {
    asked.push(options);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer?.(options);
  };
  const PublicKeyCredential = Object.assign(() => {}, {
    isConditionalMediationAvailable: async () => true,
    signalUnknownCredential: async (one: unknown) => void forgotten.push(one),
  });
  const page = new EventTarget();
  const document = Object.assign(page, { visibilityState: 'visible', querySelectorAll: () => [{}] });
  for (const [name, value] of Object.entries({
    PublicKeyCredential,
    document,
    location: { hostname: 'example.com', href: 'https://example.com/' },
  }))
    Object.defineProperty(globalThis, name, { value, configurable: true });
  Object.defineProperty(navigator, 'credentials', { value: { get, create: get }, configurable: true });
  return { asked, forgotten };
}

afterEach(() => {
  mock.timers.reset();
  for (const name of ['PublicKeyCredential', 'document', 'location'])
    Reflect.deleteProperty(globalThis, name);
});

/** The calls of a client whose service takes every passkey, or refuses it. */
function calls(refused?: CastellanError): { auth: AuthCalls; sent: unknown[] } {
  const sent: unknown[] = [];
  const auth = {
    run: async (operation: string) => {
      sent.push(operation);
      return { passkey: REQUEST, expires_at: '' };
    },
    begin: async (operation: string, { body }: { body: unknown }) => {
      sent.push(operation, body);
      if (refused) throw refused;
      return { id: 'u-1' };
    },
    renew: async () => assert.fail('nothing is changed'),
  };
  return { auth: auth as unknown as AuthCalls, sent };
}

const OPTIONS = 'POST /api/v1/auth/login/passkey/options';
const SIGN_IN = 'POST /api/v1/auth/login/passkey';

test('a browser without passkeys says so, and asks the service for nothing', async () => {
  assert.equal(supportsPasskeys(), false);
  assert.equal(await supportsConditional(), false);
  const { auth, sent } = calls();
  const refused = { code: 'passkey_unsupported' };
  await assert.rejects(passkeys.get(REQUEST), refused);
  await assert.rejects(passkeys.signIn(auth), refused);
  await assert.rejects(passkeys.signIn(auth, { conditional: true }), refused);
  await assert.rejects(passkeys.own(auth).add(), refused);
  assert.deepEqual(sent, []);
});

test('the service gets the members that it reads, and no other', async () => {
  const { asked } = browser(async () => credential);
  assert.deepEqual(await passkeys.get(REQUEST), ASSERTION);
  assert.deepEqual([...new Uint8Array(asked[0]?.publicKey.challenge ?? bytes(''))], [1, 2, 3]);
});

test('a sign-in asks for a challenge, for the passkey, and for the session', async () => {
  browser(async () => credential);
  const { auth, sent } = calls();
  assert.deepEqual(await passkeys.signIn(auth), { id: 'u-1' });
  assert.deepEqual(sent, [OPTIONS, SIGN_IN, { passkey: ASSERTION }]);
});

for (const [name, code] of Object.entries({
  NotAllowedError: 'passkey_cancelled',
  AbortError: 'passkey_cancelled',
  SecurityError: 'passkey_unsupported',
  InvalidStateError: 'passkey_taken',
}))
  test(`${name} of the browser is ${code}`, async () => {
    const { asked } = browser(failing(name));
    await assert.rejects(passkeys.get(REQUEST), { name: 'CastellanError', code, status: 0 });
    assert.equal(asked.length, 1);
  });

test('the signal ends a request with its reason', async () => {
  browser(waiting);
  const reason = new Error('the page closed');
  const controller = new AbortController();
  const asked = passkeys.get(REQUEST, { signal: controller.signal });
  await new Promise(setImmediate);
  controller.abort(reason);
  await assert.rejects(asked, (error) => error === reason);
  const late = passkeys.get(REQUEST, { signal: AbortSignal.abort(reason) });
  await assert.rejects(late, (error) => error === reason);
});

test('a second request ends the first, and goes on although the browser refuses it once', async () => {
  const { asked } = browser(waiting, failing('NotAllowedError'), async () => credential);
  const { auth } = calls();
  const first = assert.rejects(passkeys.signIn(auth, { conditional: true }), { code: 'passkey_cancelled' });
  while (asked.length === 0) await new Promise(setImmediate);
  assert.equal(asked[0]?.mediation, 'conditional');
  assert.deepEqual(await passkeys.get(REQUEST), ASSERTION);
  await first;
  assert.equal(asked.length, 3);
});

test('suggestions get another challenge before the first one ends', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { asked } = browser(waiting, async () => credential);
  const { auth, sent } = calls();
  const signedIn = passkeys.signIn(auth, { conditional: true });
  while (asked.length === 0) await new Promise(setImmediate);
  mock.timers.tick(8 * 60_000);
  assert.deepEqual(await signedIn, { id: 'u-1' });
  assert.deepEqual(sent, [OPTIONS, OPTIONS, SIGN_IN, { passkey: ASSERTION }]);
});

test('the browser is told about a passkey that no longer exists', async () => {
  const { forgotten } = browser(async () => credential);
  const refused = new CastellanError('passkey_unknown', 'There is no such passkey.', { status: 422 });
  await assert.rejects(passkeys.signIn(calls(refused).auth), (error) => error === refused);
  assert.deepEqual(forgotten, [{ rpId: 'example.com', credentialId: 'aWQ' }]);
});
