// Runs the blocks of the tutorial as they are written, in one shell, against a real service.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import { runShell } from '@castellan/testing/shell';

test('every block of the tutorial runs, twice in one shell, and every status is the documented one', async (t) => {
  const service = await startTestService(t);
  const text = await readFile(new URL('../../../docs/get-started/tutorial.md', import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1] as string);
  assert.ok(blocks.length > 10, 'the tutorial has its blocks');

  // Its cookie jars are removed with this folder.
  const folder = await mkdtemp(join(tmpdir(), 'castellan-tutorial-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { code, output } = await runShell([...blocks, ...blocks].join('\n'), {
    TMPDIR: folder,
    BASE: service.url,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
  });
  assert.equal(code, 0, output);
  assert.match(output, /the same Ernest/);
  assert.match(output, /now she may: .*articles\d+\.publish/);
  assert.match(output, /late; it says: Writes what happened/);
  assert.match(output, /by admin@example\.com: /);
  assert.equal(output.match(/groups deleted: 4/g)?.length, 2);
});

test('a failed call stops its block and leaves an interactive shell open', async (t) => {
  const service = await startTestService(t);
  const text = await readFile(new URL('../../../docs/get-started/tutorial.md', import.meta.url), 'utf8');
  const [, tools = ''] = /```sh\n(.*?)```/s.exec(text) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'castellan-tutorial-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const script = `${tools}\n{\nbecome\ncall 200 GET /users/me\necho 'after the failure'\n}\necho 'still open'\n`;
  const { output } = await runShell(
    script,
    { TMPDIR: folder, BASE: service.url, ADMIN_PASSWORD: ADMIN.password },
    ['--norc', '-i'],
  );
  assert.match(output, /GET \/users\/me: wanted 200, got 401/);
  assert.match(output, /^still open$/m);
  assert.doesNotMatch(output, /^after the failure$/m);
});

test('sign_in waits for Retry-After after too many sign-ins, and retries once', async (t) => {
  const text = await readFile(new URL('../../../docs/get-started/tutorial.md', import.meta.url), 'utf8');
  const [, tools = ''] = /```sh\n(.*?)```/s.exec(text) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'castellan-tutorial-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // A real limit would depend on the speed of this machine, so the answers are fixed here.
  const waits = 'become() { JAR=$(mktemp); TOKEN=; CSRF=; }\nanswers=(429 200)\n';
  const fake = `request() { STATUS=\${answers[0]}; answers=("\${answers[@]:1}"); REQUEST="$1 $2"
    BODY='{"data":{"access_token":"a token"}}'; printf 'Retry-After: 1\\r\\n' >"$JAR.headers"; }\n`;
  const script = `${tools}\n${waits}${fake}sign_in a b; echo "token: $TOKEN"\nanswers=(429 429); sign_in a b`;
  const { output } = await runShell(script, {
    TMPDIR: folder,
    ADMIN_PASSWORD: ADMIN.password,
  });
  assert.match(output, /waiting 1 s\ntoken: a token/);
  assert.match(output, /POST \/auth\/login: wanted 200, got 429/);
});
