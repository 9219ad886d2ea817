// GET /settings: every setting with its value in force and its source, and nothing of a secret.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { signedInWith } from '@castellan/testing/users/people';
import { loadSettings, settingDefinitions } from '../../src/settings.ts';

const definitions = Object.values(settingDefinitions);
const smtpPassword = 'Granite$Pelican58Oar';
const environment = {
  PASSWORD_MIN_LENGTH: ' 14 ',
  DEFAULT_ROLE: '',
  FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  SMTP_URL: `smtp://mailer-login:${encodeURIComponent(smtpPassword)}@127.0.0.1:9?name=mailer-option`,
};
const service = await startTestService({ after }, environment);
const { client } = await signedInWith(service, 'settings.read');

type Shown = { name: string; value: string | null; default: string; source: string; is_secret: boolean };
const read = async (): Promise<{ answer: Answer; byName: Map<string, Shown> }> => {
  const answer = await client.get('/api/v1/settings');
  assert.equal(answer.status, 200, answer.text);
  return { answer, byName: new Map(answer.body.data.map((one: Shown) => [one.name, one])) };
};

/** Returns the password and the options of a URL; otherwise the value itself. */
function secretsIn(value: string): string[] {
  const url = URL.parse(value);
  if (!url) return [value];
  const parts = [url.password, decodeURIComponent(url.password), ...url.searchParams.values()];
  return parts.filter((part) => part !== '');
}

test('every setting is listed once, in the order of its documentation, with its meaning', async () => {
  const { answer } = await read();
  assert.deepEqual(
    answer.body.data.map(({ name, description }: Record<string, string>) => [name, description]),
    definitions.map(({ name, description }) => [name, description]),
  );
  assert.equal(answer.headers.get('cache-control'), 'no-store');
});

test('a setting has its value in force, its default and the source of the value', async () => {
  const { byName } = await read();
  const shownFor = (name: string) => {
    const { value, default: byDefault, source } = byName.get(name) as Shown;
    return [value, byDefault, source];
  };
  assert.deepEqual(shownFor('PASSWORD_MIN_LENGTH'), [
    '14',
    '12; 15 with PASSWORD_POLICY=nist',
    'environment',
  ]);
  assert.deepEqual(shownFor('PASSWORD_HISTORY_COUNT'), ['5', '5', 'default']);
  assert.deepEqual(shownFor('DEFAULT_ROLE'), ['', 'User', 'environment']);
  assert.deepEqual(shownFor('TRUSTED_PROXIES'), ['none', 'none', 'default']);
  assert.deepEqual(shownFor('RATE_LIMIT_LOGIN'), ['off', '5/minute', 'environment']);
  assert.deepEqual(shownFor('RESET_URL'), [
    'http://castellan.test/reset#token={token}',
    'PUBLIC_URL/reset#token={token}',
    'default',
  ]);
});

test('a start with a logo that cannot be used is refused; a usable one is held in memory with its type', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-logo-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'logo.png');
  await writeFile(path, '<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>');
  await assert.rejects(
    service.another({ LOGO_FILE: path }),
    /^SettingsError: A setting is wrong:\n {2}LOGO_FILE \(.*logo\.png\) contains an event handler \(onload\); export/,
  );
  await writeFile(path, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  const other = await service.another({ LOGO_FILE: path, ACCENT_COLOR: '#FFD43B' });
  assert.equal(other.service.deps.logo?.contentType, 'image/svg+xml');
  const warnings = other.logLines.filter((line) => line.includes('ACCENT_COLOR #ffd43b'));
  assert.equal(warnings.length, 1);
});

test('no secret of the running configuration is in the answer', async () => {
  const { answer, byName } = await read();
  const { settings } = service.service.deps;
  let hidden = 0;
  for (const [key, { name, secret }] of Object.entries(settingDefinitions)) {
    const value: unknown = settings[key as keyof typeof settingDefinitions];
    assert.equal(byName.get(name)?.is_secret, secret !== null, name);
    if (secret === null || typeof value !== 'string') continue;
    const hiddenParts = secret === 'value' ? [value] : secretsIn(value);
    for (const part of hiddenParts) assert.ok(!answer.text.includes(part), name);
    hidden += hiddenParts.length;
  }
  assert.ok(hidden >= 5);
  for (const part of [smtpPassword, 'mailer-login', 'mailer-option'])
    assert.ok(!answer.text.includes(part), part);
  for (const name of ['SECRET_KEY', 'FIRST_SUPERUSER_PASSWORD']) assert.equal(byName.get(name)?.value, null);
  assert.equal(byName.get('SMTP_URL')?.value, 'smtp://127.0.0.1:9');
});

test('a secret that is not set is generated', () => {
  const sources = new Map(loadSettings({}).inForce.map(({ name, value, source }) => [name, [value, source]]));
  for (const name of ['SECRET_KEY', 'FIRST_SUPERUSER_PASSWORD'])
    assert.deepEqual(sources.get(name), [null, 'generated']);
  assert.deepEqual(sources.get('DATABASE_URL'), ['embedded', 'default']);
});

test('the answer is the same for secrets of any length', () => {
  const shown = (length: number) =>
    JSON.stringify(
      loadSettings({
        SECRET_KEY: 'k'.repeat(length),
        FIRST_SUPERUSER_PASSWORD: 'p'.repeat(length),
        SMTP_URL: `smtp://u:${'p'.repeat(length)}@mail.example`,
        DATABASE_URL: `postgres://u:${'p'.repeat(length)}@db.example/app`,
      }).inForce,
    );
  assert.equal(shown(40), shown(90));
});

/** What must be set with a setting. */
const companions: Readonly<Record<string, Record<string, string>>> = {
  TLS_CERT_FILE: { TLS_KEY_FILE: '/run/key.pem' },
  TLS_KEY_FILE: { TLS_CERT_FILE: '/run/cert.pem' },
};

// Whatever a setting is called and however it is declared: if it accepts a URL with a login, the login is hidden.
for (const { name, read: accepts } of definitions)
  test(`${name}: a login in a URL is not shown`, () => {
    for (const scheme of ['https', 'postgres', 'smtp']) {
      const value = `${scheme}://kettle-user:kettle-password@host.example/path`;
      try {
        accepts(value);
      } catch {
        continue;
      }
      const { inForce } = loadSettings({ ...companions[name], [name]: value });
      assert.equal(inForce.find((one) => one.name === name)?.source, 'environment');
      assert.doesNotMatch(JSON.stringify(inForce), /kettle/);
    }
  });

test('of the addresses of the sink and the collector, whose paths may be credentials, scheme and host are shown', () => {
  const { inForce } = loadSettings({
    AUDIT_SINK: 'https://hooks.example:8443/services/kettle-path?kettle=query',
    AUDIT_SINK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example/kettle-path?kettle=query#kettle',
  });
  const shown = new Map(inForce.map(({ name, value }) => [name, value]));
  assert.equal(shown.get('AUDIT_SINK'), 'https://hooks.example:8443');
  assert.equal(shown.get('OTEL_EXPORTER_OTLP_ENDPOINT'), 'https://otlp.example');
  assert.doesNotMatch(JSON.stringify(inForce), /kettle/);
});

test('a secret that looks like a URL is hidden as a whole', () => {
  const SECRET_KEY = 'https://kettle.example/kettle-key-that-has-32-bytes';
  assert.doesNotMatch(JSON.stringify(loadSettings({ SECRET_KEY }).inForce), /kettle/);
});

test('a text setting whose name says that it is secret is declared as one', () => {
  const text = 'kettle-text-that-has-32-bytes-or-more';
  const acceptsText = ({ read: accepts }: (typeof definitions)[number]): boolean => {
    try {
      return accepts(text) !== undefined;
    } catch {
      return false;
    }
  };
  // The path of a file is no secret.
  const suspicious = definitions.filter(
    ({ name }) => /SECRET|PASSWORD|(?<!PASS)KEY|TOKEN|CREDENTIAL/.test(name) && !name.endsWith('_FILE'),
  );
  assert.ok(suspicious.length > 2);
  for (const one of suspicious.filter(acceptsText)) assert.equal(one.secret, 'value', one.name);
});

test('a caller without the permission is refused', async () => {
  const { client: other } = await signedInWith(service, 'audit_log.read');
  const answer = await other.get('/api/v1/settings');
  assert.deepEqual([answer.status, answer.body.required_permission], [403, 'settings.read']);
  assert.equal((await (await signIn(service, ADMIN)).get('/api/v1/settings')).status, 200);
});
