// Identity providers over the API: a superuser's session writes and tests them; a key and a personal token do not.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ADMIN, startTestService, type TestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { castellan } from './castellan.ts';

const cleanups: (() => Promise<void>)[] = [];
const hooks = { after: (hook: () => Promise<void> | void) => void cleanups.push(async () => hook()) };
const SECRET = 'open sesame';
let service: TestService;
let folder: string;
let environment: Record<string, string>;

before(async () => {
  service = await startTestService(hooks);
  folder = await mkdtemp(join(tmpdir(), 'castellan-provider-'));
  const { body } = await service.client().login(ADMIN);
  environment = {
    CASTELLAN_URL: service.url,
    CASTELLAN_API_KEY: body.data.access_token,
    CASTELLAN_CONFIG: join(folder, 'config.json'),
  };
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const call = (...words: string[]) => castellan(['identity-provider', ...words], environment);

async function ok(...words: string[]): Promise<string> {
  const { code, out, err } = await call(...words);
  assert.deepEqual([code, err], [0, ''], words.join(' '));
  return out.trimEnd();
}

const body = (slug: string, issuer: string, fields: object = {}) => ({
  slug,
  name: 'Acme',
  kind: 'oidc',
  issuer,
  client_id: 'castellan',
  ...fields,
});

test('a provider is created from a file, tested, and changed', async () => {
  const { issuer } = await startIssuer(hooks);
  const from = await file('acme.json', body('acme', issuer));
  const secret = await file('secret', `${SECRET}\n`);
  const words = ['create', '--from', from, '--secret-file', secret];

  const dry = await ok(...words, '--dry-run');
  assert.ok(dry.includes('(not shown)') && !dry.includes(SECRET), dry);
  assert.equal((await call('get', 'acme')).code, 3);

  const created = await ok(...words);
  assert.match(
    created,
    /^Identity provider acme created\. Register this redirect address there: http\S+\/callback$/,
  );
  assert.match(await ok('get', 'acme'), /^has a secret: +yes$/m);
  assert.match(await ok('test', 'acme'), new RegExp(`^issuer: +${issuer}$`, 'm'));

  await ok('update', 'acme', '--from', await file('name.json', { name: 'Acme Ltd.', sign_up: 'everyone' }));
  const shown = await ok('get', 'acme');
  assert.match(shown, /^name: +Acme Ltd\.$/m);
  assert.match(shown, /^sign-up: +everyone$/m);
  assert.match(shown, /^has a secret: +yes$/m);
});

test('a test that fails says what is wrong, and exits with 1', async () => {
  const gone = await startIssuer(hooks);
  gone.misbehaviour = { trouble: { discovery: 'error' } };
  await ok('create', '--from', await file('gone.json', body('gone', gone.issuer, { client_secret: SECRET })));
  const { code, out, err } = await call('test', 'gone');
  assert.equal(code, 1);
  assert.match(out, /: +failed: /);
  assert.match(err, /nobody can sign in by this provider/);
});

test('another issuer and the end of sessions are asked about first', async () => {
  const { issuer } = await startIssuer(hooks);
  await ok('create', '--from', await file('first.json', body('first', issuer, { client_secret: SECRET })));
  const moved = await file('moved.json', { issuer: 'https://id.example.com', client_secret: SECRET });
  const unasked = await call('update', 'first', '--from', moved);
  assert.equal(unasked.code, 1);
  assert.match(unasked.err, /--yes/);
  assert.match(await ok('get', 'first'), new RegExp(`^issuer: +${issuer}$`, 'm'));
  assert.equal((await call('update', 'first', '--from', moved, '--if-version', '77', '--yes')).code, 1);
  await ok('update', 'first', '--from', moved, '--end-sessions', '--yes');
  assert.match(await ok('get', 'first'), /^issuer: +https:\/\/id\.example\.com$/m);
});

test('wrong files and wrong callers are refused, and nothing is made', async () => {
  const valid = body('refused', 'https://id.example.com', { client_secret: SECRET });
  const from = await file('valid.json', valid);
  const secret = await file('secret', SECRET);
  const refused: [string[], RegExp][] = [
    [['create'], /give --from/],
    [['create', '--from', join(folder, 'nothing')], /--from: ENOENT/],
    [['create', '--from', await file('list.json', [valid])], /must have one JSON object/],
    [['create', '--from', await file('text.json', 'slug: acme')], /not JSON/],
    [
      ['create', '--from', from, '--secret-file', secret],
      /client_secret is in --from and in a separate file/,
    ],
    [['create', '--from', from, '--private-key-file', join(folder, 'nothing')], /--private-key-file: ENOENT/],
    [['create', '--from', from, '--secret-file', await file('two', 'a\nb')], /exactly one line/],
  ];
  for (const [words, message] of refused) {
    const { code, err } = await call(...words);
    assert.equal(code, 2, words.join(' '));
    assert.match(err, message);
  }
  const wrong = await call('create', '--from', await file('wrong.json', { ...valid, kind: 'saml' }));
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /kind/);

  const [role] = await service.sql<{ id: string }>("select id from roles where name = 'Admin'");
  const { key } = await addServiceAccount(service, { roles: [role?.id ?? ''] });
  const lesser = await castellan(['identity-provider', 'create', '--from', from], {
    ...environment,
    CASTELLAN_API_KEY: key,
  });
  assert.notEqual(lesser.code, 0);
  assert.match(lesser.err, /superuser/);
  assert.equal((await call('get', 'refused')).code, 3);
});
