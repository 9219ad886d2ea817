import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { loadSettings } from '../../settings.ts';
import { isOneEditAway } from './setting-warnings.ts';

const warningsOf = (environment: Record<string, string>): string[] => loadSettings(environment).warnings;
const withoutPasskeys = { SECOND_FACTORS: 'totp', PASSKEY_SIGN_IN: 'false' };
const key = 'q3Vh0cGx5bXV0dGVyLWZvcmVzdC1saWdodC1tb3NhaWMtOTQx';

test('a variable one letter off from a setting gives a warning, and no error; others give none', () => {
  for (const [name, meant] of [
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['SECRET_KEYS', 'SECRET_KEY'],
    ['PUBLIC-URL', 'PUBLIC_URL'],
    ['port', 'PORT'],
  ] as const) {
    const warnings = warningsOf({ [name]: 'x' });
    assert.equal(warnings.length, 1, name);
    assert.match(warnings[0] ?? '', new RegExp(`^${name} is not a setting.* mean ${meant}, `));
  }
  assert.deepEqual(
    warningsOf({ HOME: '/root', HOSTNAME: 'x', PATH: '/bin', PWD: '/', npm_config_port: '1' }),
    [],
  );
});

test('one edit: inserted, removed, replaced, swapped', () => {
  for (const [a, b, near] of [
    ['PORT', 'PORT', true],
    ['PORTS', 'PORT', true],
    ['PRT', 'PORT', true],
    ['SORT', 'PORT', true],
    ['PROT', 'PORT', true],
    ['AAB', 'AAAB', true],
    ['TROP', 'PORT', false],
    ['PT', 'PORT', false],
    ['PXYT', 'PORT', false],
  ] as const)
    assert.equal(isOneEditAway(a, b), near, `${a} ${b}`);
});

test('settings that conflict give a warning with the remedy', () => {
  for (const [environment, expected] of [
    [{ PUBLIC_URL: 'http://accounts.example.com' }, /^PUBLIC_URL is http and COOKIE_SECURE is on/],
    [{ SMTP_URL: 'smtps://mail.example.com' }, /^SMTP_URL is set, but MAIL_FROM is an address at localhost/],
    [
      { ACCENT_COLOR: '#FFD43B' },
      /^ACCENT_COLOR #ffd43b has too little contrast on light pages\. They use #\w{6} for links, #\w{6} for the focus ring\. Set a darker/,
    ],
    [{ ACCENT_COLOR: '#7c7c7c' }, /They use #767676 as the background of buttons/],
    [{ SECRET_KEY: 'a'.repeat(48) }, /^SECRET_KEY looks guessable.*openssl rand/],
    [{ SECRET_KEY: 'change-me-change-me-change-me-change-me' }, /^SECRET_KEY looks guessable/],
    [{ DATABASE_URL: 'postgres://app:p@ss@localhost/db' }, /^DATABASE_URL contains characters.*%40/],
    [{ DATABASE_URL: 'postgres://app:50%off@localhost/db' }, /^DATABASE_URL contains characters.*%25/],
    [{ DATABASE_URL: 'postgres://app:12/34@localhost/db' }, /^DATABASE_URL contains characters.*%2F/],
  ] as const) {
    const warnings = warningsOf(environment);
    assert.match(warnings[0] ?? '', expected);
    for (const secret of ['p@ss', '50%off', '12/34', 'change-me'])
      assert.ok(!warnings[0]?.includes(secret), 'a secret is shown');
  }
});

test('a key of words, keyboard rows or other sequences gives a warning', () => {
  for (const guessable of [
    'thisisaverylongsecretkeyforcastellan',
    'qwertyuiopasdfghjklzxcvbnmqwertyui',
    'castellan-production-secret-key-2026',
    'correct-horse-battery-staple-42-x',
    'MySuperSecretKeyForProduction2026!!',
    'THIS_IS_THE_SECRET_KEY_OF_OUR_SERVICE',
    '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,',
    'zyxwvutsrqponmlkjihgfedcba987654',
  ])
    assert.match(warningsOf({ SECRET_KEY: guessable })[0] ?? '', /^SECRET_KEY looks guessable/, guessable);
});

test('a random key gives no warning', () => {
  for (const [bytes, encoding] of [
    [32, 'hex'],
    [32, 'base64'],
    [32, 'base64url'],
    [48, 'base64'],
  ] as const)
    for (let seed = 0; seed < 250; seed += 1) {
      const random = createHash('sha512').update(`${bytes} ${seed}`).digest().subarray(0, bytes);
      const secretKey = random.toString(encoding);
      assert.deepEqual(warningsOf({ SECRET_KEY: secretKey }), [], secretKey);
    }
});

test('correct settings give no warning', () => {
  for (const environment of [
    {},
    {
      PUBLIC_URL: 'https://accounts.example.com',
      SMTP_URL: 'smtps://m.example.com',
      MAIL_FROM: 'Ada <a@example.com>',
    },
    { PUBLIC_URL: 'http://127.0.0.1:8000', ...withoutPasskeys },
    { PUBLIC_URL: 'http://accounts.example.com', COOKIE_SECURE: 'false', ...withoutPasskeys },
    { PUBLIC_URL: 'https://accounts.example.com', PASSKEY_RP_ID: 'example.com' },
    { SECRET_KEY: key },
    { DATABASE_URL: 'postgres://app:p%40ss%25@localhost:5432/db?sslmode=verify-full' },
    { DATABASE_URL: 'postgres://app@%2Frun%2Fpostgresql/db' },
    { DATABASE_URL: 'postgres:///db?host=/run/postgresql' },
  ])
    assert.deepEqual(warningsOf(environment), [], JSON.stringify(environment));
});

test('an address that has no passkeys, and a domain that must help, give a warning', () => {
  for (const [environment, expected] of [
    [{ PUBLIC_URL: 'https://192.0.2.7' }, /^Browsers offer no passkeys at https:\/\/192\.0\.2\.7,/],
    [
      { PUBLIC_URL: 'http://accounts.example.com', COOKIE_SECURE: 'false', SECOND_FACTORS: 'totp' },
      /^Browsers offer no passkeys at http:\/\/accounts\.example\.com,/,
    ],
    [
      { PUBLIC_URL: 'https://new.example', PASSKEY_RP_ID: 'old.example' },
      /only if https:\/\/old\.example\/\.well-known\/webauthn lists https:\/\/new\.example:/,
    ],
  ] as const) {
    const warnings = warningsOf(environment);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', expected);
  }
});

test('a wrong domain or origin of passkeys stops the start', () => {
  for (const [name, value] of [
    ['PASSKEY_RP_ID', 'https://example.com'],
    ['PASSKEY_ORIGINS', 'https://a.example,http://b.example'],
    ['PASSKEY_FORMER_RP_IDS', 'old.example,192.0.2.7'],
    ['SECOND_FACTORS', 'totp,sms'],
    ['PASSKEY_SIGN_IN', 'maybe'],
  ] as const)
    assert.throws(() => loadSettings({ [name]: value }), new RegExp(name), name);
});

test('metrics that other machines can read give a warning', () => {
  for (const [address, isWarned] of [
    ['127.0.0.1:9464', false],
    ['unix:/run/castellan/metrics.sock', false],
    [':9464', true],
    ['192.0.2.7:9464', true],
  ] as const) {
    const warnings = warningsOf({ METRICS_ADDRESS: address });
    assert.equal(warnings.length, isWarned ? 1 : 0, address);
    if (isWarned)
      assert.match(warnings[0] ?? '', /reached from other machines.*or set it to 127\.0\.0\.1:9464/);
  }
});
