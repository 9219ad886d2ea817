// Tests the secret key: found or created once, the same for all processes that start, never replaced.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { loadSecretKey } from './secret-key.ts';

const text = 'k3Jd8sQ0zL5vB7nM1xC4aF6gH9pR2tYw'; // 32 bytes

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'castellan-secret-key-'));
});
after(() => rm(root, { recursive: true, force: true }));

async function dataDirWith(content?: string | Buffer, mode = 0o600) {
  const dataDir = await mkdtemp(join(root, 'data-'));
  const path = join(dataDir, 'secret.key');
  if (content !== undefined) {
    await writeFile(path, content);
    await chmod(path, mode);
  }
  return { dataDir, path };
}

describe('SECRET_KEY from the environment', () => {
  test('has precedence over the file, which is neither read nor created', async () => {
    const { dataDir } = await dataDirWith();
    assert.deepEqual(await loadSecretKey({ fromEnv: text, dataDir }), {
      key: Buffer.from(text),
      source: 'environment',
    });
    assert.deepEqual(await readdir(dataDir), []);
  });

  test('is measured in bytes, without surrounding white space', async () => {
    const { key } = await loadSecretKey({ fromEnv: ` ${text}\n`, dataDir: root });
    assert.deepEqual(key, Buffer.from(text));
    assert.equal((await loadSecretKey({ fromEnv: 'é'.repeat(16), dataDir: root })).key.length, 32);
  });

  for (const fromEnv of ['', ' '.repeat(40), text.slice(1), 'changeme', `${text.slice(1)}\n\n`]) {
    test(`${JSON.stringify(fromEnv)} is refused with the way to make one, and is not repeated`, async () => {
      await assert.rejects(loadSecretKey({ fromEnv, dataDir: root }), (error: Error) => {
        assert.match(error.message, /SECRET_KEY has \d+ bytes.*at least 32.*openssl rand -base64 48/);
        return fromEnv.trim() === '' || !error.message.includes(fromEnv.trim());
      });
    });
  }

  test('binary data is refused, because it loses entropy when read as text', async () => {
    for (const fromEnv of ['\ufffd'.repeat(40), `${text}\u0001${text}`, `${text}\n${text}`]) {
      await assert.rejects(loadSecretKey({ fromEnv, dataDir: root }), /one line of text/);
    }
  });
});

describe('SECRET_KEY from the file', () => {
  test('is created at the first start, readable by its owner only, and stays', async () => {
    const dataDir = join((await dataDirWith()).dataDir, 'new', 'deeper');
    const first = await loadSecretKey({ dataDir });
    assert.deepEqual(Object.keys(first), ['key', 'source']);
    assert.equal(first.source, 'file');
    assert.equal(first.key.length, 64);
    assert.deepEqual(await readdir(dataDir), ['secret.key']);
    assert.equal((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o600);
    assert.deepEqual(await loadSecretKey({ dataDir }), first);
    assert.notDeepEqual((await loadSecretKey({ dataDir: (await dataDirWith()).dataDir })).key, first.key);
  });

  test('its content in the environment is the same key', async () => {
    const { dataDir, path } = await dataDirWith();
    const { key } = await loadSecretKey({ dataDir });
    const fromEnv = await readFile(path, 'utf8');
    assert.deepEqual((await loadSecretKey({ fromEnv, dataDir: root })).key, key);
  });

  for (const mode of [0o640, 0o604, 0o644, 0o660]) {
    test(`mode ${mode.toString(8)} gives a warning that names the remedy`, async () => {
      const { dataDir, path } = await dataDirWith(text, mode);
      const { key, warning = '' } = await loadSecretKey({ dataDir });
      assert.deepEqual(key, Buffer.from(text));
      assert.ok(warning.includes(`chmod 600 ${path}`));
      assert.ok(!warning.includes(text));
    });
  }

  test('a mounted file behind a symbolic link is read', async () => {
    const { path } = await dataDirWith(text);
    const { dataDir, path: linkPath } = await dataDirWith();
    await symlink(path, linkPath);
    assert.deepEqual((await loadSecretKey({ dataDir })).key, Buffer.from(text));
  });

  const bad: [name: string, content: string | Buffer, message: RegExp][] = [
    ['an empty file', '', /has 0 bytes.*restore it from a backup/],
    ['a short one', text.slice(1), /has 31 bytes.*restore/],
    ['blanks', ' '.repeat(64), /has 0 bytes/],
    ['zero bytes, as after a power failure', Buffer.alloc(64), /one line of text.*restore/],
    ['random bytes', Buffer.alloc(64, 0xfe), /one line of text/],
    ['a wrong file', 'x'.repeat(5000), /5000 bytes and is not a secret key/],
  ];
  for (const [name, content, message] of bad) {
    test(`${name} stops the start and stays as it was`, async () => {
      const { dataDir, path } = await dataDirWith(content);
      await assert.rejects(loadSecretKey({ dataDir }), (error: Error) => {
        assert.match(error.message, message);
        return error.message.includes(path);
      });
      assert.deepEqual(await readFile(path), Buffer.from(content));
      assert.deepEqual(await readdir(dataDir), ['secret.key']);
    });
  }

  test('an unusable folder is an error that names the remedy', async () => {
    const { path } = await dataDirWith(text);
    const { dataDir, path: folder } = await dataDirWith();
    await mkdir(folder);
    const dangling = await dataDirWith();
    await symlink(join(root, 'nowhere'), dangling.path);
    await assert.rejects(
      loadSecretKey({ dataDir: path }),
      /Cannot read or create the secret key.*set SECRET_KEY/,
    );
    await assert.rejects(loadSecretKey({ dataDir }), /Cannot read or create the secret key.*set SECRET_KEY/);
    await assert.rejects(loadSecretKey({ dataDir: dangling.dataDir }), /disappeared|no file/);
  });
});

describe('a common first start', () => {
  test('of many calls in one process ends with one key and no leftovers', async () => {
    for (let round = 0; round < 20; round++) {
      const { dataDir } = await dataDirWith();
      const all = await Promise.all(Array.from({ length: 50 }, () => loadSecretKey({ dataDir })));
      assert.equal(new Set(all.map(({ key }) => key.toString())).size, 1);
      assert.deepEqual(await readdir(dataDir), ['secret.key']);
    }
  });

  test('of eight processes ends with one key and no leftovers', { timeout: 60_000 }, async () => {
    const { dataDir } = await dataDirWith();
    // All wait for the same time, so that loading modules does not spread them out.
    const program = `
      import { createHash } from 'node:crypto';
      import { loadSecretKey } from ${JSON.stringify(new URL('./secret-key.ts', import.meta.url).href)};
      while (Date.now() < Number(process.argv[1]));
      const { key } = await loadSecretKey({ dataDir: process.argv[2] });
      process.stdout.write(createHash('sha256').update(key).digest('hex'));`;
    const startAt = String(Date.now() + 1500);
    const run = promisify(execFile);
    const all = await Promise.all(
      Array.from({ length: 8 }, () =>
        run(process.execPath, ['--input-type=module', '--eval', program, startAt, dataDir]),
      ),
    );
    const digests = all.map(({ stdout }) => stdout);
    assert.match(digests[0] ?? '', /^[\da-f]{64}$/);
    assert.equal(new Set(digests).size, 1);
    assert.deepEqual(await readdir(dataDir), ['secret.key']);
  });
});
