import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '@castellan/embedded-postgres/testing';
import { settingDefinitions } from '@castellan/server/settings';
import { makeCertificate } from '@castellan/testing/http/certificate';
import { castellan, program } from './castellan.ts';

test('help lists every command, and help for a command shows its options', async () => {
  const all = await castellan(['help']);
  assert.deepEqual([all.code, all.err], [0, '']);
  for (const name of [
    'serve',
    'migrate',
    'create-superuser',
    'rotate-keys',
    'reset-keys',
    'demo',
    'check-config',
  ])
    assert.match(all.out, new RegExp(`^ {2}${name} `, 'm'));
  assert.match(all.out, /^ {2}audit +List, follow, export and verify /m);
  assert.match(all.out, /^ {2}identity-provider +List, create, change, test /m);
  const one = await castellan(['rotate-keys', '--help']);
  assert.equal(one.code, 0);
  assert.match(
    one.out,
    /^Usage: castellan rotate-keys \[--for applications\] \[--now \| --revoke <kid> \[--yes\]\]$/m,
  );
  assert.deepEqual(await castellan(['help', 'rotate-keys']), one);
});

test('a Node that is too old hands over to the installed one, and ends as it ends', () => {
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });`;
  const asOld = (...args: string[]) =>
    spawnSync(
      process.execPath,
      [`--import=data:text/javascript,${encodeURIComponent(old)}`, program, ...args],
      { encoding: 'utf8', env: { PATH: process.env.PATH } },
    );
  const version = asOld('--version');
  assert.deepEqual([version.status, version.stderr], [0, '']);
  assert.match(version.stdout, /^castellan \d+\.\d+\.\d+\n$/);
  assert.equal(asOld('bogus').status, 2);
});

test('without a command, the service is run', async () => {
  const { code, err } = await castellan([], { PORT: 'none' });
  assert.equal(code, 1);
  assert.match(err, /Castellan cannot start\. A setting is wrong:\\n {2}PORT is /);
});

test('--version prints the version', async () => {
  const { code, out } = await castellan(['--version']);
  assert.equal(code, 0);
  assert.match(out, /^castellan \d+\.\d+\.\d+\n$/);
});

for (const [args, message] of [
  [['bogus'], /^castellan: there is no command "bogus"\. .+\n$/],
  [['toString'], /^castellan: there is no command "toString"\. .+\n$/],
  [['help', 'bogus'], /^castellan: there is no command "bogus"\. .+\n$/],
  [['rotate-keys', '--soon'], /^castellan: Unknown option '--soon'\. See `castellan help rotate-keys`\.\n$/],
  [['migrate', 'now'], /^castellan: Unexpected argument 'now'.*\. See .+\n$/],
  [['create-superuser', '--first-name', 'A'], /^castellan: --email is missing\. .+\n$/],
  [['create-superuser', '--email', 'nobody'], /^castellan: --email is not an email address\.\n$/],
  [['create-superuser', '--email', 'a@example.com'], /^castellan: --first-name is missing\. .+\n$/],
  [
    ['create-superuser', '--email', 'a@example.com', '--promote', '--last-name', 'B'],
    /^castellan: --promote does not change names.+\n$/,
  ],
  [
    ['create-superuser', '--email', 'a@example.com', '--first-name', 'A'],
    /^castellan: --last-name is missing\. .+\n$/,
  ],
] as const)
  test(`\`castellan ${args.join(' ')}\` is a usage error: exit code 2 and what to do`, async () => {
    const { code, out, err } = await castellan([...args]);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, message);
  });

test('check-config shows every setting with its value or default, and no secret', async () => {
  const secrets = ['kettle-password', 'kettle-query', 'kettle-key-that-has-32-bytes-or-more', 'kettle-first'];
  const { code, out } = await castellan(['check-config'], {
    PORT: '8123',
    DEFAULT_ROLE: '',
    DATABASE_URL: `postgres://someone:${secrets[0]}@db.example.com:5432/accounts?password=${secrets[1]}`,
    SECRET_KEY: secrets[2] as string,
    FIRST_SUPERUSER_PASSWORD: secrets[3] as string,
  });
  assert.equal(code, 0);
  const [warnings, settings] = [true, false].map((wanted) =>
    out
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('warning: ') === wanted),
  ) as [string[], string[]];
  const lines = Object.fromEntries(settings.map((line) => line.split(/\s{2,}/)));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^warning: DATABASE_URL names another machine/);
  assert.deepEqual(
    Object.keys(lines),
    Object.values(settingDefinitions).map(({ name }) => name),
  );
  assert.equal(lines.PORT, '8123');
  assert.equal(lines.HOST, '127.0.0.1 (default)');
  assert.equal(lines.PUBLIC_URL, 'http://localhost:8123 (default)');
  assert.equal(lines.DEFAULT_ROLE, '(empty)');
  assert.equal(lines.DATABASE_URL, 'postgres://db.example.com:5432/accounts (login and options not shown)');
  assert.equal(lines.SECRET_KEY, '(set, not shown)');
  for (const secret of secrets) assert.ok(!out.includes(secret), secret);
});

test('check-config names the file of a secret, and shows nothing of it', async (t) => {
  const file = join(temporaryFolder(t), 'key');
  writeFileSync(file, 'kettle-key-that-has-32-bytes-or-more\n', { mode: 0o600 });
  const { code, out } = await castellan(['check-config'], { SECRET_KEY_FILE: file });
  assert.equal(code, 0);
  assert.match(out, /^SECRET_KEY +\(from .+\/key, not shown\)$/m);
  assert.ok(!out.includes('kettle'));
});

test('check-config shows no part of a URL whose password is not percent-encoded', async () => {
  for (const DATABASE_URL of [
    'postgres://app:12/kettle@db.example.com/accounts',
    'postgres://app:12?kettle@db.example.com/accounts',
  ]) {
    const { out } = await castellan(['check-config'], { DATABASE_URL });
    assert.match(out, /^DATABASE_URL +\(set, not shown\)$/m);
    assert.ok(!out.includes('kettle'));
  }
});

test('check-config lists every wrong setting, but no value of a secret', async () => {
  const { code, out, err } = await castellan(['check-config'], {
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    SECRET_KEY: 'kettle',
  });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /3 settings are wrong:\n {2}PORT is "eighty".+\n {2}SECRET_KEY must .+\n {2}LOG_LEVEL /);
  assert.ok(!err.includes('kettle'));
});

test('check-config refuses a logo or an accent colour that cannot be used, as the start does', async () => {
  const colour = await castellan(['check-config'], { ACCENT_COLOR: 'blue' });
  assert.deepEqual([colour.code, colour.out], [1, '']);
  assert.match(colour.err, /ACCENT_COLOR is "blue"; write a colour as # and six hexadecimal digits/);
  const logo = await castellan(['check-config'], { LOGO_FILE: '/dev/null' });
  assert.deepEqual([logo.code, logo.out], [1, '']);
  assert.match(logo.err, /LOGO_FILE \(\/dev\/null\) cannot be read \(it is not a file\); correct the path/);
});

test('check-config opens the certificate and the file of leaked passwords, and says what is wrong with both', async (t) => {
  const folder = temporaryFolder(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const [pair, other] = [makeCertificate('localhost'), makeCertificate('localhost')];
  const TLS_CERT_FILE = file('cert.pem', pair.cert);
  const TLS_KEY_FILE = file('key.pem', pair.key);
  const PASSWORD_BREACH_FILE = file('leaked.txt', `${'0'.repeat(40)}:1\n`);
  const right = { TLS_CERT_FILE, TLS_KEY_FILE, PASSWORD_BREACH_FILE };
  const fits = await castellan(['check-config'], right);
  assert.equal(fits.code, 0, fits.err);
  const wrong = await castellan(['check-config'], {
    TLS_CERT_FILE,
    TLS_KEY_FILE: file('other.pem', other.key),
    PASSWORD_BREACH_FILE: join(folder, 'none.txt'),
  });
  assert.deepEqual([wrong.code, wrong.out], [1, '']);
  assert.match(
    wrong.err,
    /2 settings are wrong:\n {2}TLS_KEY_FILE \(.+other\.pem\) is not the key of .+\n {2}PASSWORD_BREACH_FILE \(.+none\.txt\) does not exist/,
  );
  chmodSync(TLS_KEY_FILE, 0o644);
  const open = await castellan(['check-config'], right);
  assert.match(open.out, /^warning: TLS_KEY_FILE .+ can be read by every user/m);
});

test('an unreachable database server causes one line of output and exit code 1', async () => {
  const { code, err } = await castellan(['migrate'], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
    SECRET_KEY: 'q3Vh0cGx5bXV0dGVyLWZvcmVzdC1saWdodC1tb3Nh',
  });
  assert.equal(code, 1);
  assert.match(err, /^castellan: connect ECONNREFUSED 127\.0\.0\.1:9\. Start PostgreSQL, .+\n$/);
});

test('a real bash completes, and runs nothing of what is typed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-bash-'));
  t.after(() => rm(folder, { recursive: true }));
  const program = fileURLToPath(new URL('../castellan.mjs', import.meta.url));
  await writeFile(join(folder, 'castellan'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
    mode: 0o755,
  });
  const script = `
    set -eu
    source <(castellan completion bash)
    complete -p castellan
    press_tab() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _castellan; echo "[\${COMPREPLY[*]-}]"; }
    press_tab castellan user sess
    press_tab castellan user get '$(touch ${folder}/ran)' --pro
    ls ${folder}`;
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], { env });
  assert.equal(stdout, 'complete -o default -F _castellan castellan\n[sessions]\n[--profile]\ncastellan\n');
});
