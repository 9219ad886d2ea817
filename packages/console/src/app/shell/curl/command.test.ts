// What a shell makes of the curl commands.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Secret, type SentRequest, withoutSecrets } from '../../../common/recent-requests.ts';
import { curlOf } from './command.ts';

const request = (change: Partial<SentRequest>): SentRequest => ({
  page: '/users',
  method: 'GET',
  url: 'https://id.example.com/api/v1/users',
  ifMatch: null,
  body: undefined,
  ...change,
});

/** Returns the arguments that curl gets from a shell, which finds no other program. */
function argumentsOf(command: string, environment: Record<string, string> = {}): string[] {
  const script = `set -e; PATH=; curl() { printf '%s\\0' "$@"; }\n${command}\n`;
  const output = execFileSync('/bin/sh', ['-c', script], {
    env: { CASTELLAN_TOKEN: 'the token', ...environment },
    encoding: 'utf8',
  });
  return output.split('\0').slice(0, -1);
}

test('a read is one command, with the token from a variable', () => {
  const url = 'https://id.example.com/base/api/v1/users?q=a%26b&size=25';
  assert.deepEqual(argumentsOf(curlOf(request({ url }))), [
    '--globoff',
    url,
    '--header',
    'Authorization: Bearer the token',
  ]);
});

test('a write has its method, its version and its body', () => {
  const body = {
    name: 'Clerk',
    permission_ids: ['1', '2'],
    groups: [],
    none: null,
    deep: { a: true, b: {} },
  };
  const all = argumentsOf(curlOf(request({ method: 'PUT', ifMatch: '"7"', body })));
  assert.deepEqual(all.slice(0, 3), ['--globoff', '--request', 'PUT']);
  assert.ok(all.includes('If-Match: "7"') && all.includes('Content-Type: application/json'));
  assert.deepEqual(JSON.parse(all.at(-1) ?? ''), body);
});

const hostile = [
  "it's",
  "'; touch /tmp/pwned; '",
  '$(id) `id` $HOME !! !$',
  'a\nb\r\n\tc',
  '\\ \\n " \\"',
  '*?[a-z]{a,b} ~ # & | < > ;',
  "\\'\\''''",
  '@/etc/passwd',
  '-o /tmp/x',
  'é 漢 🙂 \u2028 \u001b[31m',
];

for (const text of hostile)
  test(`a shell changes nothing of ${JSON.stringify(text)}`, () => {
    const body = { name: text, [text]: [text] };
    const url = `https://id.example.com/api/v1/users?q=${encodeURIComponent(text)}`;
    const all = argumentsOf(curlOf(request({ method: 'POST', url, ifMatch: text, body })));
    assert.ok(all.includes(url));
    assert.ok(all.includes(`If-Match: ${text}`));
    assert.deepEqual(JSON.parse(all.at(-1) ?? ''), body);
  });

test('secrets are variables', () => {
  const key = `castellan_${'a'.repeat(12)}_${'b'.repeat(40)}`;
  const body = withoutSecrets({
    email: 'ada@example.com',
    password: 'first-secret',
    current_password: 'second-secret',
    new_password: 'third-secret',
    client_secret: 'fourth-secret',
    token: 'fifth-secret',
    code: 'sixth-secret',
    note: `my key is ${key}`,
    nested: [{ refresh_token: 'seventh-secret' }],
    must_change_password: true,
    postcode: '10115',
  });
  const command = curlOf(request({ method: 'POST', body }));
  assert.doesNotMatch(command, /-secret|castellan_/);
  const [sent = ''] = argumentsOf(command, { PASSWORD: 'p', NEW_PASSWORD: 'n', NOTE: 'o' }).slice(-1);
  assert.deepEqual(JSON.parse(sent), {
    email: 'ada@example.com',
    password: 'p',
    current_password: '',
    new_password: 'n',
    client_secret: '',
    token: '',
    code: '',
    note: 'o',
    nested: [{ refresh_token: '' }],
    must_change_password: true,
    postcode: '10115',
  });
});

test('the name of a secret field runs nothing, either', () => {
  const body = { a: new Secret('x$(id)-token'), b: new Secret('1token') };
  const [sent = ''] = argumentsOf(curlOf(request({ method: 'POST', body })), { X_ID_TOKEN: 'v' }).slice(-1);
  assert.deepEqual(JSON.parse(sent), { a: 'v', b: '' });
});
