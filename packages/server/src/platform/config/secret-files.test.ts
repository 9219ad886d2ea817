import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '@castellan/embedded-postgres/testing';
import { loadSettings, settingDefinitions } from '../../settings.ts';
import { SettingsError } from './config.ts';

const KEY = 'kettle-key-that-has-more-than-32-bytes';

/** Returns the path of a new file with mode 0600. */
function fileWith(t: TestContext, text: string, name = 'secret'): string {
  const path = join(temporaryFolder(t), name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** Returns the problems that the settings are refused for. None contains a byte of the secret. */
function problemsOf(environment: Record<string, string>): string[] {
  try {
    loadSettings(environment);
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    assert.ok(!error.message.includes('kettle'));
    return error.problems;
  }
  throw new Error('the settings were accepted');
}

const sourceOf = (environment: Record<string, string>, name: string): string | undefined =>
  loadSettings(environment).inForce.find((one) => one.name === name)?.source;

/** Texts of the kinds that secret settings have. */
const values = [
  'postgres://app:kettle@127.0.0.1/app',
  'smtp://app:kettle@127.0.0.1:25',
  'https://app:kettle@127.0.0.1/path',
  'stdout',
  `whsec_${Buffer.from('kettle'.repeat(6)).toString('base64')}`,
  'authorization=kettle',
  KEY,
];

function isAccepted({ read }: { read: (text: string) => unknown }, value: string): boolean {
  try {
    read(value);
    return true;
  } catch {
    return false;
  }
}

test('each secret setting can come from a file; the line end is not part of it', (t) => {
  const secrets = Object.values(settingDefinitions).filter(({ secret }) => secret !== null);
  assert.ok(secrets.length >= 4);
  for (const definition of secrets) {
    const { name } = definition;
    const value = values.find((one) => isAccepted(definition, one));
    assert.ok(value, `${name} accepts none of the values of this test: add one`);
    const direct = loadSettings({ [name]: value });
    for (const end of ['', '\n', '\r\n']) {
      const environment: Record<string, string> = { [`${name}_FILE`]: fileWith(t, `${value}${end}`) };
      const { warnings, ...read } = loadSettings(environment);
      assert.deepEqual(warnings, direct.warnings);
      const { inForce, secretFiles, trustedProxies, outboundDeny, warnings: _, ...expected } = direct;
      for (const [key, wanted] of Object.entries(expected)) assert.deepEqual(Reflect.get(read, key), wanted);
      assert.equal(sourceOf(environment, name), 'file');
      assert.ok(!JSON.stringify(read.inForce).includes('kettle'));
    }
  }
});

test('a setting that is not secret is not read from a file', (t) => {
  assert.equal(loadSettings({ PORT_FILE: fileWith(t, '9000') }).port, 8000);
});

test('a systemd credential with the name of the setting counts; other credentials do not', (t) => {
  const path = fileWith(t, `${KEY}\n`, 'SECRET_KEY');
  const environment = { CREDENTIALS_DIRECTORY: join(path, '..') };
  assert.equal(loadSettings(environment).secretKey, KEY);
  assert.equal(sourceOf(environment, 'SECRET_KEY'), 'file');
  assert.equal(sourceOf(environment, 'SMTP_URL'), 'default');
});

test('a link to a file is followed, as Kubernetes mounts secrets', (t) => {
  const path = fileWith(t, KEY);
  const link = `${path}-link`;
  symlinkSync(path, link);
  assert.equal(loadSettings({ SECRET_KEY_FILE: link }).secretKey, KEY);
});

test('two values for one secret are refused, whichever they are', (t) => {
  const path = fileWith(t, KEY, 'SECRET_KEY');
  const credentials = { CREDENTIALS_DIRECTORY: join(path, '..') };
  for (const [environment, both] of [
    [{ SECRET_KEY: KEY, SECRET_KEY_FILE: path }, 'the variable SECRET_KEY and SECRET_KEY_FILE'],
    [{ SECRET_KEY: KEY, ...credentials }, 'the variable SECRET_KEY and the systemd credential SECRET_KEY'],
    [{ SECRET_KEY_FILE: path, ...credentials }, 'SECRET_KEY_FILE and the systemd credential SECRET_KEY'],
  ] as const)
    assert.deepEqual(problemsOf(environment), [`SECRET_KEY has two values: ${both}. Keep one of them.`]);
  // An empty variable counts as missing, so that a template may name all of them.
  assert.equal(loadSettings({ SECRET_KEY: ' ', SECRET_KEY_FILE: path }).secretKey, KEY);
  assert.equal(loadSettings({ SECRET_KEY: KEY, SECRET_KEY_FILE: '' }).secretKey, KEY);
});

test('a file that cannot be used is reported with its path, together with other problems', (t) => {
  const folder = temporaryFolder(t);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  mkdirSync(join(folder, 'folder'));
  const cases: [path: string, reason: RegExp][] = [
    [join(folder, 'none'), /^SECRET_KEY_FILE names .+, which does not exist$/],
    [join(folder, 'folder'), /^SECRET_KEY_FILE names .+, which is a folder; name the file in it$/],
    [pipe, /^SECRET_KEY_FILE names .+, which is not a regular file$/],
    [fileWith(t, ' \n'), /^SECRET_KEY_FILE names .+, which is empty$/],
    [fileWith(t, 'k'.repeat(65_537)), /^SECRET_KEY_FILE names .+, which is larger than 64 KiB$/],
    [fileWith(t, 'kettle'), /^SECRET_KEY \(in .+\) must have at least 32 bytes/],
  ];
  for (const [path, reason] of cases) {
    const [port, key, ...more] = problemsOf({ SECRET_KEY_FILE: path, PORT: 'x' });
    assert.match(port ?? '', /^PORT /);
    assert.match(key ?? '', reason);
    assert.deepEqual(more, []);
  }
});

test('a file that the user may not read is reported', (t) => {
  const path = fileWith(t, KEY);
  chmodSync(path, 0);
  // Root may read everything, so the test is somebody else for a moment.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    assert.match(problemsOf({ SECRET_KEY_FILE: path })[0] ?? '', /which this user may not read/);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

test('a file that every user of the machine can read causes a warning; a credential does not', (t) => {
  const path = fileWith(t, KEY, 'SECRET_KEY');
  assert.deepEqual(loadSettings({ SECRET_KEY_FILE: path }).warnings, []);
  chmodSync(path, 0o644);
  const { warnings } = loadSettings({ SECRET_KEY_FILE: path });
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] ?? '',
    /^SECRET_KEY_FILE \(.+\) can be read by every user of the machine\. Run: chmod o= /,
  );
  assert.deepEqual(loadSettings({ CREDENTIALS_DIRECTORY: join(path, '..') }).warnings, []);
});

test('a file that its group or every user may write causes a warning; a credential does not', (t) => {
  const path = fileWith(t, KEY, 'SECRET_KEY');
  const warningsOf = (mode: number): readonly string[] => {
    chmodSync(path, mode);
    assert.deepEqual(loadSettings({ CREDENTIALS_DIRECTORY: join(path, '..') }).warnings, []);
    return loadSettings({ SECRET_KEY_FILE: path }).warnings;
  };
  for (const mode of [0o620, 0o660, 0o602]) {
    const [warning = '', ...more] = warningsOf(mode);
    assert.match(
      warning,
      /^SECRET_KEY_FILE \(.+\) can be written by others\. Run: chmod go-w \/.+SECRET_KEY$/,
    );
    assert.deepEqual(more, []);
  }
  assert.equal(warningsOf(0o666).length, 2, 'both are said');
  for (const mode of [0o400, 0o600, 0o640]) assert.deepEqual(warningsOf(mode), []);
});

test('the name of a secret file that is misspelled is reported', () => {
  const { warnings } = loadSettings({ SECRET_KEY_FIL: '/run/key' });
  assert.match(warnings.join(), /If you mean SECRET_KEY_FILE, rename it/);
});
