// The package as npm would publish it, installed without a registry in an empty project that runs and type-checks it.
// It must not build into packages/sdk/dist, which another test uses.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData, type Problem } from '@arethetypeswrong/core';
import { publint } from 'publint';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const source = join(root, 'packages/sdk');
const folder = mkdtempSync(join(tmpdir(), 'castellan-packed-'));
after(() => rm(folder, { recursive: true, force: true }));
const staging = join(folder, 'staging');
const project = join(folder, 'project');
const installed = join(project, 'node_modules/@castellan/sdk');
/** These are packed as they are, besides package.json. */
const TEXTS = ['LICENSE', 'README.md'].filter((file) => existsSync(join(source, file)));

/** Runs a program in the project. Rejects with its output if it fails. */
async function run(program: string, args: string[], cwd = project): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    // Neither the settings and packages of this machine nor a registry can take part.
    HOME: folder,
    npm_config_cache: join(folder, 'cache'),
    npm_config_registry: 'http://127.0.0.1:9',
  };
  try {
    return (await promisify(execFile)(program, args, { cwd, env })).stdout;
  } catch (error) {
    const { stdout, stderr } = Object(error);
    return assert.fail(`${[program, ...args].join(' ')}:\n${stdout}${stderr}`);
  }
}

const node = (...args: string[]): Promise<string> => run(process.execPath, args);

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
}

mkdirSync(staging);
mkdirSync(project);
await run(process.execPath, [join(source, 'build.mjs'), join(staging, 'dist')], source);
for (const file of ['package.json', ...TEXTS]) await copyFile(join(source, file), join(staging, file));
await run('npm', ['pack'], staging);
const [tarball = ''] = globSync(join(staging, '*.tgz'));
write({ 'package.json': JSON.stringify({ name: 'empty', private: true, type: 'module' }) });
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball]);

const USE = `
import assert from 'node:assert/strict';
import { CastellanError, createClient, createGuard, GuardError } from '@castellan/sdk';
import { passkeys, supportsPasskeys } from '@castellan/sdk/passkeys';
import { createActingClient } from '@castellan/sdk/acting';
import { createTestCastellan } from '@castellan/sdk/testing';

assert.equal(supportsPasskeys(), false);
await assert.rejects(passkeys.get({}), { code: 'passkey_unsupported' });
const castellan = createTestCastellan();
const ada = castellan.addUser({ email: 'ada@example.com', permissions: ['orders.read'] });
const { baseUrl } = castellan;

const client = createClient({ baseUrl, fetch: castellan.browserFetch() });
const { email, password } = ada;
await client.auth.signIn({ email, password });
assert.equal((await client.get('/api/v1/users/me')).data.email, email);
await client.auth.signOut();
await assert.rejects(client.get('/api/v1/users/me'), CastellanError);
client.close();
const acting = createActingClient({ baseUrl, fetch: castellan.fetch }, await ada.accessToken());
assert.equal((await acting.get('/api/v1/users/me')).data.email, email);

const permissions = ['token.introspect', 'access.check'];
const { apiKey } = castellan.addProgram({ name: 'Orders', permissions });
const guard = createGuard({ baseUrl, apiKey, fetch: castellan.fetch });
const headers = { authorization: 'Bearer ' + (await ada.accessToken()) };
const identity = await guard.authenticate({ headers });
assert.equal(await guard.can(identity, 'orders.read'), true);
assert.equal(await guard.can(identity, 'orders.ship'), false);
ada.deactivate();
await assert.rejects(guard.authenticate({ headers }), GuardError);
process.stdout.write('used');
`;

const TYPED = `
import { type BrowserClient, CastellanError, createClient, createGuard, type Guard, type Page } from '@castellan/sdk';
import { passkeys, supportsPasskeys } from '@castellan/sdk/passkeys';
import { createActingClient } from '@castellan/sdk/acting';
import { createTestCastellan, type TestUser } from '@castellan/sdk/testing';

export const canHavePasskeys: boolean = supportsPasskeys();
export const client: BrowserClient = createClient({ baseUrl: location.origin, passkeys, onStepUp: () => false });
export const acting: BrowserClient = createActingClient({ baseUrl: location.origin }, 'token');
export const email: Promise<string> = client.get('/api/v1/users/me').then(({ data }) => data.email);
export const path = { user_id: crypto.randomUUID() };
export const other: Promise<boolean> = client.get('/api/v1/users/{user_id}', { path }).then(({ data }) => data.is_active);
export async function* emails(): AsyncGenerator<string> {
  for await (const user of client.items('/api/v1/users')) yield user.email;
}
export const guard: Guard = createGuard({ baseUrl: location.origin, apiKey: 'castellan_key' });
export const wrapped: (request: Request) => Promise<Response> = guard
  .require('orders.read')
  .fetch(async (request: Request) => new Response(guard.identityOf(request).name));
export const ada: TestUser = createTestCastellan().addUser({ email: 'ada@example.com' });
export const codeOf = (error: unknown): string => (error instanceof CastellanError ? error.code : '');
export type Users = Page<{ email: string }>;

// @ts-expect-error: there is no such operation.
void client.get('/api/v1/nothing');
// @ts-expect-error: the path needs an id.
void client.get('/api/v1/users/{user_id}');
// @ts-expect-error: the email is missing.
void client.auth.signIn({ password: '' });
// @ts-expect-error: a guard needs a key.
createGuard({ baseUrl: '' });
`;

const TYPED_REACT = `
import { createClient } from '@castellan/sdk';
import { type Account, Can, CastellanProvider, useAccount, useCan, useUser } from '@castellan/sdk/react';

const client = createClient({ baseUrl: location.origin });
function Page() {
  const account: Account = useAccount();
  const user = useUser();
  const mayShip: boolean = useCan('orders.ship');
  // @ts-expect-error: nobody may be signed in.
  const email: string = user.email;
  return <Can permission="orders.read" fallback={email}>{account.status}{mayShip ? user?.first_name : null}</Can>;
}
export const app = <CastellanProvider client={client} fallback="…"><Page /></CastellanProvider>;
// @ts-expect-error: the permission is missing.
export const open = <Can>everything</Can>;
`;

/** Type-checks the file in a program that knows ES2022 and the browser, and nothing of Node.js. */
async function check(module: string, moduleResolution: string, file: string): Promise<void> {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
    module,
    moduleResolution,
    jsx: 'react-jsx',
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  write({ 'tsconfig.json': JSON.stringify({ compilerOptions, files: [file] }) });
  await node(join(root, 'node_modules/typescript/bin/tsc'), '-p', '.');
}

const RESOLUTIONS = [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const;

test('the package holds the compiled files and its texts, and no path of this machine', () => {
  const files = globSync('**/*.*', { cwd: installed }).concat(globSync('LICENSE', { cwd: installed }));
  const compiled = files.filter((file) => /^dist\/.+\.js$/.test(file)).map((file) => file.slice(0, -3));
  const sources = globSync('**/*.{ts,tsx}', { cwd: join(source, 'src') });
  const expected = sources.map((file) => `dist/${file.replace(/\.tsx?$/, '')}`);
  assert.deepEqual(compiled.sort(), expected.sort());
  assert.deepEqual(
    files.sort(),
    [...expected.flatMap((one) => [`${one}.js`, `${one}.d.ts`]), 'package.json', ...TEXTS].sort(),
  );
  for (const file of files) {
    const text = readFileSync(join(installed, file), 'utf8');
    for (const path of [root, folder]) assert.ok(!text.includes(path), `${file} contains ${path}`);
  }
});

test('the licence in the package is that of the project', () => {
  const [packed, own] = [join(installed, 'LICENSE'), join(root, 'LICENSE')];
  assert.equal(readFileSync(packed, 'utf8'), readFileSync(own, 'utf8'));
});

test('nothing else is installed with it', () => {
  assert.deepEqual(globSync('{*,@*/*}', { cwd: join(project, 'node_modules') }).sort(), [
    '@castellan',
    '@castellan/sdk',
  ]);
});

test('the client, the guard and the stand-in work without React', async (t) => {
  write({ 'use.js': USE });
  assert.equal(await node('use.js'), 'used');
  const node20 = await findNode20();
  if (node20 === undefined) t.diagnostic('Not run on Node.js 20: there is none on the PATH.');
  else {
    t.diagnostic(`Run on ${node20}, too.`);
    assert.equal(await run(node20, ['use.js']), 'used');
  }
});

/** Returns the oldest Node.js that the package supports, if one is installed beside the one of the project. */
async function findNode20(): Promise<string | undefined> {
  const places = (process.env.PATH ?? '').split(delimiter).filter((place) => !place.startsWith(root));
  for (const program of places.map((place) => join(place, 'node')).filter((file) => existsSync(file)))
    if ((await run(program, ['--version'])).startsWith('v20.')) return program;
  return undefined;
}

for (const [module, resolution] of RESOLUTIONS)
  test(`a program type-checks it with ${resolution}, without the types of Node.js and React`, async () => {
    write({ 'typed.ts': TYPED });
    await check(module, resolution, 'typed.ts');
  });

test('the React entry works and type-checks in a project with React', async () => {
  for (const name of ['react', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  write({
    'typed.tsx': TYPED_REACT,
    'react.js': `
      import { createElement } from 'react';
      import { createClient } from '@castellan/sdk';
      import { Can, CastellanProvider, useAccount, useCan, useUser } from '@castellan/sdk/react';
      const client = createClient({ baseUrl: 'https://accounts.example.com' });
      createElement(CastellanProvider, { client }, createElement(Can, { permission: 'orders.read' }));
      process.stdout.write([useAccount, useCan, useUser].map((one) => typeof one).join());`,
  });
  assert.equal(await node('react.js'), 'function,function,function');
  for (const [module, resolution] of RESOLUTIONS) await check(module, resolution, 'typed.tsx');
});

test('publint has nothing to say', async () => {
  const { buffer } = new Uint8Array(readFileSync(tarball));
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
  assert.deepEqual(messages, []);
});

test('the types resolve as the code does', async () => {
  const result = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
  assert.ok(result.types, 'the package has types');
  assert.deepEqual(Object.keys(result.entrypoints), [
    '.',
    './react',
    './passkeys',
    './acting',
    './webhooks',
    './testing',
    './package.json',
  ]);
  assert.deepEqual(
    result.problems.filter((problem) => !isExpected(problem)),
    [],
  );
});

/**
 * The package has ES modules only, which `require` loads since Node.js 20.19; TypeScript warns of it. Resolution `node10`
 * knows no `exports`, and TypeScript 7 does not have it.
 */
const isExpected = (problem: Problem): boolean =>
  problem.kind === 'CJSResolvesToESM' ||
  (problem.kind === 'NoResolution' && problem.resolutionKind === 'node10');
