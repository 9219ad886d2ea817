// A service with an invalid setting does not start: it lists every problem with its fix, and repeats no secret.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitMessage } from '@castellan/testing/start/child';
import { SettingsError } from '../../src/platform/config/config.ts';
import { loadSettings, settingDefinitions } from '../../src/settings.ts';

const start = fileURLToPath(new URL('../../start.mjs', import.meta.url));

function problemsOf(environment: Record<string, string>): string[] {
  try {
    loadSettings(environment);
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    return error.problems;
  }
  return [];
}

// Each invalid value, and the words of its fix.
const wrong: Record<string, [value: string, fix: RegExp]> = {
  HOST: ['everywhere', /write an IP address/],
  PORT: ['80a', /whole number from 0 to 65535/],
  PUBLIC_URL: ['example.com', /not a URL of the form http:\/\/… or https:\/\/…/],
  DATABASE_URL: ['mysql://root:Hidden1Secret@h/db', /not a URL of the form postgres:\/\/…/],
  WORKERS: ['all', /whole number from 1 to 64/],
  DATABASE_REPLICA_URL: ['http://root:Hidden3Secret@h/db', /not a URL of the form postgres:\/\/…/],
  DATABASE_REPLICA_MAX_AGE: ['1', /whole number from 2 to 3600/],
  DATABASE_POOL_SIZE: ['1', /whole number from 2 to 500/],
  SECRET_KEY: ['Hidden2Secret', /at least 32 bytes.*openssl rand/],
  FIRST_SUPERUSER_PASSWORD: ['Seven7!', /at least 8 characters/],
  SMTP_URL: ['http://u:Hidden3Secret@mail', /not a URL of the form smtp:\/\//],
  FIRST_SUPERUSER_EMAIL: ['root', /not an email address; write one such as/],
  ACCESS_TOKEN_EXPIRE_MINUTES: ['-1', /write a number from/],
  REFRESH_TOKEN_EXPIRE_DAYS: ['a week', /write a number from/],
  KEY_ANNOUNCE_MINUTES: ['0', /whole number from 1 to 10080/],
  REFRESH_REUSE_INTERVAL: ['1e3', /whole number from 0 to 600/],
  CONCURRENT_SESSION_LIMIT: ['five', /whole number/],
  VALIDATE_TOKEN_IP: ['maybe', /write true, false or by-family/],
  TRUSTED_PROXIES: ['10.0.0.0/8, *', /would trust every client; list the addresses/],
  ACCOUNT_LOCKOUT_ATTEMPTS: ['0', /whole number from 1/],
  ACCOUNT_LOCKOUT_DURATION: ['0', /write a number from/],
  PASSWORD_MIN_LENGTH: ['129', /whole number from 8 to 128/],
  PASSWORD_HISTORY_COUNT: ['-1', /whole number from 0/],
  PASSWORD_MIN_STRENGTH: ['5', /whole number from 0 to 4/],
  UNVERIFIED_ACCOUNT_CLEANUP_HOURS: ['3 days', /write a number from/],
  CLEANUP_INTERVAL_MINUTES: ['0', /write a number from/],
  RATE_LIMIT_LOGIN: ['5 per minute', /N\/second, N\/minute.*or off/],
  RATE_LIMIT_REGISTER: ['0/hour', /N from 1/],
  RATE_LIMIT_PASSWORD_RESET: ['3/week', /N\/second, N\/minute/],
  RATE_LIMIT_NEW_ACCESS_TOKEN: ['-5/minute', /such as 5\/minute/],
  RATE_LIMIT_RESEND_VERIFICATION: ['unlimited', /or off/],
  REGISTRATION_ABUSE_LIMIT: ['OFF', /or off/],
  ACCOUNT_EMAIL_LIMIT: ['5/Hour', /N\/hour/],
  COOKIE_SECURE: ['2', /write true or false/],
  CORS_ORIGINS: ['https://app.example, *', /not an origin; write scheme and host/],
  CORS_HEADERS: ['x-trace, x trace', /"x trace", which is not the name of a header/],
  SHUTDOWN_GRACE_SECONDS: ['5s', /whole number from 0 to 600/],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['127.0.0.1:4318', /not a URL of the form http:/],
  OTEL_EXPORTER_OTLP_HEADERS: ['Hidden4Secret', /write name=value/],
  OTEL_TRACES_SAMPLER: ['jaeger_remote', /write one of parentbased_always_on/],
  OTEL_TRACES_SAMPLER_ARG: ['2', /write a number from 0 to 1/],
  OTEL_SDK_DISABLED: ['2', /write true or false/],
  AUDIT_SINK: ['syslog://Hidden5Secret', /neither stdout nor an address/],
  AUDIT_SINK_SECRET: ['Hidden6Secret', /must be whsec_ and 32 bytes/],
  METRICS_ADDRESS: ['9464', /write an IP address and a port/],
  LOG_LEVEL: ['loud', /write one of fatal, error/],
};
const wrongEnvironment = Object.fromEntries(Object.entries(wrong).map(([name, [value]]) => [name, value]));

test('every invalid setting is listed at once, by name, with the fix', () => {
  const problems = problemsOf(wrongEnvironment);
  assert.equal(problems.length, Object.keys(wrong).length, problems.join('\n'));
  for (const [name, [, fix]] of Object.entries(wrong)) {
    const found = problems.filter((problem) => problem.startsWith(`${name} `));
    assert.equal(found.length, 1, name);
    assert.match(found[0] ?? '', fix);
    assert.equal(found[0]?.split(name).length, 2, `the name occurs once: ${found[0]}`);
  }
});

test('the value of a secret setting is never repeated', () => {
  const text = problemsOf(wrongEnvironment).join('\n');
  assert.doesNotMatch(text, /Hidden[123]Secret/);
});

test('proxies that would trust everyone are refused in every spelling', () => {
  for (const value of [
    '*',
    '0.0.0.0/0',
    '::/0',
    '10.0.0.1,0.0.0.0/0',
    '::ffff:0.0.0.0/96',
    'proxy.local',
    '10.0.0.0/33',
  ])
    assert.equal(problemsOf({ TRUSTED_PROXIES: value }).length, 1, value);
});

test('OUTBOUND_DENY takes addresses and ranges of both families, and no name', () => {
  for (const value of ['lan.example', '10.0.0.0/33', '*', '10.0.0.1-10.0.0.9'])
    assert.equal(problemsOf({ OUTBOUND_DENY: value }).length, 1, value);
  const { outboundDeny } = loadSettings({ OUTBOUND_DENY: '10.0.0.0/8, fd00::/8, ::ffff:192.0.2.7' });
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1', '192.0.2.7'])
    assert.equal(outboundDeny.matches(address), true, address);
  assert.equal(outboundDeny.matches('192.0.2.8'), false);
  assert.equal(loadSettings({}).outboundDeny.matches('10.1.2.3'), false);
});

test('origins with a path, a wildcard, credentials or another scheme are refused', () => {
  for (const value of [
    '*',
    'null',
    'https://*.example.com',
    'https://a.example/app',
    'ftp://a.example',
    'a.example',
  ])
    assert.equal(problemsOf({ CORS_ORIGINS: value }).length, 1, value);
  assert.deepEqual(loadSettings({ CORS_ORIGINS: 'https://a.example/, http://localhost:3000' }).corsOrigins, [
    'https://a.example',
    'http://localhost:3000',
  ]);
});

test('names of headers that are no token, and a wildcard, are refused', () => {
  for (const value of ['*', 'a b', 'a:', 'a\r\nb', 'é', '"a"', 'a;b', 'x-a, (b)'])
    assert.equal(problemsOf({ CORS_HEADERS: value }).length, 1, value);
  assert.deepEqual(loadSettings({ CORS_HEADERS: 'X-Tenant, ,x_b3.a ' }).corsHeaders, ['X-Tenant', 'x_b3.a']);
});

test('a prefix of cookies that no cookie can begin with, or that the other settings do not allow, is refused', () => {
  for (const value of ['a b', 'a=', 'a;', 'a,', '"a"', 'a/b', 'é', 'a\r\nb', 'x'.repeat(65)])
    assert.equal(problemsOf({ COOKIE_PREFIX: value }).length, 1, value);
  for (const value of ['__Host-', '__host-a_', '__Secure-', '__SECURE-a', '__Http-'])
    assert.match(
      problemsOf({ COOKIE_PREFIX: value, COOKIE_SECURE: 'false' })[0] ?? '',
      /COOKIE_SECURE=false/,
    );
  assert.equal(loadSettings({ COOKIE_PREFIX: '__Host-castellan_' }).cookiePrefix, '__Host-castellan_');
  assert.equal(
    loadSettings({ COOKIE_PREFIX: 'castellan.', COOKIE_SECURE: 'false' }).cookiePrefix,
    'castellan.',
  );
});

test('an empty environment is a complete configuration, and an empty variable counts as missing', () => {
  const bare = loadSettings({});
  assert.equal(bare.host, '127.0.0.1');
  assert.equal(bare.port, 8000);
  assert.equal(bare.publicUrl, 'http://localhost:8000');
  assert.equal(bare.databaseUrl, undefined);
  assert.equal(bare.secretKey, undefined);
  assert.deepEqual(bare.rateLimitLogin, { limit: 5, windowSeconds: 60 });
  assert.deepEqual(bare.rateLimitRegister, { limit: 3, windowSeconds: 3_600 });
  assert.equal(bare.cookieSecure, true);
  assert.deepEqual(bare.corsOrigins, []);
  assert.deepEqual(bare.corsHeaders, []);
  assert.equal(bare.cookiePrefix, '');
  assert.equal(bare.trustedProxies.matches('127.0.0.1'), false);
  const empty = loadSettings(
    Object.fromEntries(
      Object.values(settingDefinitions).map(({ name, emptyCounts, defaultText }) => [
        name,
        emptyCounts ? defaultText : ' ',
      ]),
    ),
  );
  const values = ({ trustedProxies: _, outboundDeny: __, inForce: ___, ...settings }: typeof bare) =>
    settings;
  assert.deepEqual(values(empty), values(bare));
});

test('DEFAULT_ROLE may be empty, for no role', () => {
  assert.equal(loadSettings({ DEFAULT_ROLE: '' }).defaultRole, '');
  assert.equal(loadSettings({}).defaultRole, 'User');
});

test('the process exits with status 1 and prints the whole list, no stack and no secret', async () => {
  const child = spawn(process.execPath, [start], {
    env: { PATH: process.env.PATH ?? '', PORT: 'x', LOG_LEVEL: 'loud', SECRET_KEY: 'Hidden2Secret' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 1, out + err);
  assert.equal(out, '');
  const printed = exitMessage(err);
  for (const name of ['PORT', 'LOG_LEVEL', 'SECRET_KEY'])
    assert.match(printed, new RegExp(`\\n {2}${name} `));
  assert.match(printed, /3 settings are wrong/);
  assert.doesNotMatch(printed, /Hidden2Secret|\.ts:\d|\n\s+at /);
});
