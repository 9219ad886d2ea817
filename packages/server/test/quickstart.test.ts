// Runs the blocks of the quickstart as they are written, in one shell, against a real service.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { runShell } from '@castellan/testing/shell';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('every block of the quickstart runs, and the route answers as the page says', async (t) => {
  const service = await startTestService(t);
  const text = await readFile(join(root, 'docs/quickstart.md'), 'utf8');
  const [start, ...blocks] = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  // The service runs already; `npm start` has a test of its own (scripts/smoke/clone.ts).
  assert.equal(start, 'npm ci && npm start\n');
  assert.equal(blocks.length, 6);

  // A folder in place of the clone, so that nothing is built in this one.
  const folder = await mkdtemp(join(tmpdir(), 'castellan-quickstart-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const clone = join(folder, 'castellan');
  await mkdir(join(clone, 'packages'), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json', 'packages/sdk'])
    await cp(join(root, file), join(clone, file), {
      recursive: true,
      filter: (path) => !/packages\/sdk\/(dist|node_modules|test)(\/|$)/.test(path),
    });
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'));

  // Packages of others come from this installation instead of a registry.
  const install = /^npm install .* fastify (.*)$/m;
  assert.match(blocks[1] ?? '', install);
  const script = blocks
    .join('\n')
    .replace(
      install,
      `npm install --offline --no-audit --no-fund $1\nln -s ${root}node_modules/fastify node_modules/`,
    );
  const { code, output } = await runShell(`cd ${clone}\n${script}\nkill %1\n`, {
    TMPDIR: folder,
    BASE: service.url,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    ORDERS_PORT: String(await freePort()),
  });
  assert.equal(code, 0, output);
  assert.match(output, /^a stranger: \{"detail":"[^"]+","code":"missing_token"\} \(401\)$/m);
  assert.match(output, /^Ada: \{"orders":\["ten reams of paper"\],"reader":"ada@example.com"\} \(200\)$/m);
  assert.match(
    output,
    /^Ada without the role: \{.*"code":"permission_denied","required_permission":"orders.read"\} \(403\)$/m,
  );
});
