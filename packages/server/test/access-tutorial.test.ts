// Runs the blocks of docs/access.md as they are written, in one shell, against a real service.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import { runShell } from '@castellan/testing/shell';

test('every block of the page on protecting a route runs, and prints what the page says', async (t) => {
  const service = await startTestService(t);
  const text = await readFile(new URL('../../../docs/access.md', import.meta.url), 'utf8');
  // The first block only shows a call.
  const [, ...blocks] = [...text.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1] as string);
  assert.ok(blocks.length >= 7);
  const folder = await mkdtemp(join(tmpdir(), 'castellan-access-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { code, output } = await runShell(blocks.join('\n'), {
    TMPDIR: folder,
    BASE: service.url,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
  });
  assert.equal(code, 0, output);
  for (const line of [
    /^read: \{"decision":true,"context":\{"reason":"granted","permission":"orders\d+\.read"\}\}$/m,
    /^by email: \{"decision":true/m,
    /^delete: \{"decision":false,"context":\{"reason":"unknown_permission"/m,
    /^a stranger: \{"decision":false,"context":\{"reason":"unknown_subject"/m,
    /^without a token: 401$/m,
    /^as Ada: 200$/m,
    /^after the role lost it: 403$/m,
    /^after her sessions ended: 401$/m,
    /^Bearer$/m,
  ])
    assert.match(output, line);
});
