// `castellan doctor` against a service that runs, and against what can be wrong.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTestService, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { makeCertificate } from '@castellan/testing/http/certificate';
import { startSmtpSink } from '@castellan/testing/smtp-sink';
import { Failure } from '../src/command.ts';
import { lookAtCertificate } from '../src/doctor/certificate.ts';
import type { Finding } from '../src/doctor/finding.ts';
import { bad, ok, probe } from '../src/doctor/finding.ts';
import { run } from '../src/program.ts';

const cleanups: (() => Promise<void>)[] = [];
let service: TestService;

before(async () => {
  service = await startTestService({ after: (hook) => void cleanups.push(hook) });
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

/** Runs it with the settings of the service. */
async function doctor(own: Record<string, string> = {}, ...words: string[]) {
  const printed: string[] = [];
  const environment = {
    DATABASE_URL: service.databaseUrl,
    SECRET_KEY: TEST_SECRET_KEY,
    DATA_DIR: '/nonexistent/castellan',
    PORT: new URL(service.url).port,
    PUBLIC_URL: service.url,
    // Its address is an IP address, which cannot have passkeys.
    SECOND_FACTORS: 'totp',
    PASSKEY_SIGN_IN: 'false',
    ...own,
  };
  const host = { environment, print: (text: string) => void printed.push(text) };
  const code = await run(host, ['doctor', '--json', ...words], '').then(
    () => 0,
    (error) => (error instanceof Failure ? error.exitCode : assert.fail(error)),
  );
  const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(printed.join('\n'));
  assert.equal(ok, code === 0);
  const of = (level: string) => findings.filter((one) => one.level === level);
  const has = (level: string, text: RegExp) =>
    assert.ok(
      of(level).some((one) => text.test(one.text)),
      `${level} ${text}: ${JSON.stringify(findings, null, 1)}`,
    );
  for (const { level, advice } of findings) assert.equal(advice === null, level === 'ok');
  return { code, findings, of, has, text: printed.join('\n') };
}

test('a service in order: everything is looked at, and nothing is bad', async () => {
  const rows = () => service.sql('select count(*)::int as count from audit_logs');
  const before = await rows();
  const { code, of, has, findings, text } = await doctor();
  assert.deepEqual([code, of('bad')], [0, []]);
  for (const one of [
    /^every setting can be used$/,
    /^PostgreSQL \d+/,
    /^encoding UTF8/,
    /connections in use/,
    /may create tables/,
    /clocks .+ differ by \d+ ms/,
    /no pooler is in the way/,
    /schema is that of this version/,
    /^SECRET_KEY decrypts the signing keys/,
    /^browsers offer no passkeys at http:/,
    /^the service answers at /,
    /leads to this service$/,
  ])
    has('ok', one);
  has('warn', /SMTP_URL is not set/);
  assert.deepEqual(
    [...new Set(findings.map(({ area }) => area))],
    ['settings', 'disk', 'console', 'database', 'keys', 'passkeys', 'mail', 'address'],
  );
  assert.ok(!text.includes(TEST_SECRET_KEY));
  assert.deepEqual(await rows(), before);
});

test('a role Service from before the feed is told', async (t) => {
  const taken = await service.sql<{ role_id: string; permission_id: string }>(
    `delete from role_permissions h using roles r, permissions p
     where r.id = h.role_id and r.name = 'Service' and p.id = h.permission_id and p.name = 'access.watch'
     returning h.role_id, h.permission_id`,
  );
  assert.equal(taken.length, 1);
  t.after(() =>
    service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
      taken[0]?.role_id,
      taken[0]?.permission_id,
    ]),
  );
  const { has, code } = await doctor();
  has('warn', /^the role Service lacks access\.watch/);
  assert.equal(code, 0);
  const off = await doctor({ FEED: 'off' });
  assert.ok(!off.text.includes('access.watch'));
});

test('passkeys of another domain are counted', async (t) => {
  const passkeyId = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
  await service.sql(
    `insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, backup_eligible, backed_up)
     select $1, id, sha256('x'), '', 'passkey', 'old', 'old.example', 0, false, false from users limit 1`,
    [passkeyId],
  );
  t.after(() => service.sql('delete from passkeys where id = $1', [passkeyId]));
  const { has } = await doctor({ PUBLIC_URL: 'https://new.example' });
  has('ok', /^browsers offer passkeys at https:\/\/new\.example; new ones belong to new\.example$/);
  has('warn', /^passkeys of old\.example: 1; they do not work here$/);
  const listed = await doctor({ PUBLIC_URL: 'https://new.example', PASSKEY_FORMER_RP_IDS: 'old.example' });
  listed.has('ok', /^passkeys of old\.example: 1; they work, because PASSKEY_FORMER_RP_IDS names it$/);
});

test('a service that speaks TLS is found at its own address, with the days that its certificate is valid', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-doctor-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
  const { cert, key } = makeCertificate('accounts.example.com');
  writeFileSync(files.TLS_CERT_FILE, cert);
  writeFileSync(files.TLS_KEY_FILE, key, { mode: 0o600 });
  const secure = await startTestService(t, { ...files, PUBLIC_URL: 'https://accounts.example.com' });
  const own = { DATABASE_URL: secure.databaseUrl, PORT: new URL(secure.url).port, ...files };
  const { has, findings } = await doctor({ ...own, PUBLIC_URL: 'https://accounts.example.com:1' });
  has('warn', /^the certificate in TLS_CERT_FILE expires in 1 days, at /);
  has('ok', /^the certificate is for the host of PUBLIC_URL, accounts\.example\.com$/);
  has('ok', /^the service answers at https:\/\/127\.0\.0\.1:\d+$/);
  assert.ok(!findings.some(({ text }) => text.includes('TRUSTED_PROXIES is empty')));

  const settings = { tls: { certFile: files.TLS_CERT_FILE, keyFile: files.TLS_KEY_FILE } };
  const later = new Date(Date.now() + 3 * 86_400_000);
  const [expired, host] = await lookAtCertificate({ ...settings, publicUrl: 'https://other.example' }, later);
  assert.deepEqual([expired?.level, host?.level], ['bad', 'warn']);
  assert.match(expired?.text ?? '', /expired at/);

  writeFileSync(files.TLS_KEY_FILE, makeCertificate('other.example').key);
  (await doctor({ ...own, PUBLIC_URL: 'https://accounts.example.com:1' })).has(
    'bad',
    /is not the key of the first certificate/,
  );
});

test('a service below a path of its host is found there, by the address that people use', async (t) => {
  const below = await startTestService(t, { PUBLIC_URL: 'http://castellan.test/accounts' });
  const { origin, port } = new URL(below.url);
  const own = { DATABASE_URL: below.databaseUrl, PORT: port };
  const { code, of, has } = await doctor({ ...own, PUBLIC_URL: `${origin}/accounts` });
  assert.deepEqual([code, of('bad')], [0, []]);
  has('ok', /\/accounts\) leads to this service$/);
  has(
    'warn',
    /^the service at PUBLIC_URL calls itself http:\/\/castellan\.test\/accounts, so applications refuse it$/,
  );
  const elsewhere = await doctor({ ...own, PUBLIC_URL: `${origin}/accounts2` });
  elsewhere.has('bad', /accounts2\) answers with status 404/);
});

test('--send-to sends one mail; without it, the connection is only tried', async (t) => {
  const sink = await startSmtpSink();
  t.after(() => sink.close());
  const own = { SMTP_URL: sink.url(), MAIL_FROM: 'no-reply@example.org' };
  const { has } = await doctor(own);
  has('ok', /mail server at .+ accepts the connection/);
  assert.equal(sink.mails.length, 0);
  (await doctor(own, '--send-to', 'you@example.org')).has('ok', /a mail to you@example\.org was accepted/);
  assert.deepEqual(
    sink.mails.map(({ to }) => to),
    [['you@example.org']],
  );
});

test('another SECRET_KEY, no mail server, another Castellan at PUBLIC_URL: each is bad, exit code 1', async (t) => {
  const other = createServer((_, response) => response.end('{"keys":[{"kid":"other"}]}'));
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
  t.after(() => other.close());
  const { code, has } = await doctor({
    SECRET_KEY: 'b3RoZXItc2VjcmV0LW9mLXRoZS1zYW1lLWxlbmd0aC1ub3Q',
    SMTP_URL: 'smtp://127.0.0.1:9',
    PUBLIC_URL: `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
  });
  assert.equal(code, 1);
  has('bad', /cannot be decrypted with this SECRET_KEY/);
  has('bad', /ECONNREFUSED/);
  has('bad', /leads to a Castellan with another database/);
});

test('a proxy has to pass the documents on by which applications find the service', async (t) => {
  const passed = { paths: /^\/\.well-known\//, to: '' };
  const proxy = createServer(async (request, response) => {
    const isPassed = passed.paths.test(request.url ?? '');
    response.statusCode = isPassed ? 200 : 404;
    response.end(isPassed ? await (await fetch(`${passed.to}${request.url}`)).text() : '');
  });
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const behind = await service.another({ PUBLIC_URL: address });
  passed.to = behind.url;
  const own = { PORT: new URL(behind.url).port, PUBLIC_URL: address };
  (await doctor(own)).has('ok', new RegExp(`^applications find this service as ${address}$`));
  passed.paths = /jwks\.json$/;
  const { has } = await doctor(own);
  has('ok', /leads to this service$/);
  has('warn', /openid-configuration answers with status 404, so applications cannot find this service$/);
});

test('a service below a path is found at PUBLIC_URL, and one that the proxy does not route to is bad', async () => {
  const mounted = await service.another({ PUBLIC_URL: 'http://castellan.test/accounts' });
  const { port } = new URL(mounted.url);
  const found = await doctor({ PORT: port, PUBLIC_URL: `${mounted.url}/accounts` });
  assert.deepEqual([found.code, found.of('bad')], [0, []]);
  found.has('ok', /PUBLIC_URL \(http:.+\/accounts\) leads to this service/);
  const lost = await doctor({ PORT: port, PUBLIC_URL: `${mounted.url}/elsewhere` });
  assert.equal(lost.code, 1);
  lost.has('ok', /^the service answers at /);
  lost.has('bad', /PUBLIC_URL \(http:.+\/elsewhere\) answers with status 404/);
});

test('a database that cannot be reached is one finding, and the rest is looked at', async () => {
  const { code, of, has } = await doctor({ DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' });
  assert.equal(code, 1);
  assert.deepEqual(
    of('bad').map(({ area }) => area),
    ['database'],
  );
  has('ok', /^the service answers at /);
});

test('a database that folds case for ASCII letters only is found', async (t) => {
  for (const [name, types] of [
    ['ascii', 'C'],
    ['all', 'C.UTF-8'],
  ] as const) {
    const database = `castellan_doctor_${process.pid}_${name}`;
    await service.sql(
      `create database ${database} template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype '${types}'`,
    );
    t.after(() => service.sql(`drop database ${database}`));
    const url = new URL(service.databaseUrl);
    url.pathname = database;
    const { of } = await doctor({ DATABASE_URL: url.href });
    const warned = of('warn').some(({ text }) => text.startsWith('the database folds case for ASCII'));
    assert.equal(warned, types === 'C', types);
  }
});

test('a database user without rights, and wrong settings, are found', async (t) => {
  const name = `castellan_doctor_${process.pid}`;
  const password = randomBytes(12).toString('hex');
  await service.sql(`create role ${name} login password '${password}' connection limit 9`);
  t.after(() => service.sql(`drop owned by ${name}; drop role ${name}`));
  await service.sql(`grant select on all tables in schema public to ${name}`);
  const url = new URL(service.databaseUrl);
  Object.assign(url, { username: name, password });
  const limited = await doctor({ DATABASE_URL: url.href });
  limited.has('bad', /no rights on .*users/);
  limited.has('warn', /may not create tables/);
  limited.has('warn', /may open 9 connections/);
  const wrong = await doctor({ PORT: 'eighty', LOG_LEVEL: 'loud' });
  assert.deepEqual(
    wrong.findings.map(({ area, level }) => `${area} ${level}`),
    ['settings bad'],
  );
});

test('a probe that hangs or fails is a finding', async () => {
  const never = () => new Promise<never>(() => undefined);
  assert.deepEqual(await probe('mail', 'wait', never, 1), [
    { area: 'mail', ...bad('no answer within 0.001 s', 'wait') },
  ]);
  const fails = () => Promise.reject(new Error('one\n  two'));
  assert.deepEqual(await probe('mail', 'mend', fails), [{ area: 'mail', ...bad('one two', 'mend') }]);
  assert.deepEqual(await probe('mail', '', async () => [ok('x')]), [{ area: 'mail', ...ok('x') }]);
});
