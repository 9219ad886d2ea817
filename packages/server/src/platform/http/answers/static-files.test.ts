import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Fastify from 'fastify';
import { AppError } from '../../errors.ts';
import { openStaticFolder } from './static-files.ts';

test('a file that a newer build has removed is 404, and no cache keeps that', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-files-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['kept.js', 'removed.js', 'removed.js.br']) writeFileSync(join(folder, name), name);
  const files = openStaticFolder(folder);
  const app = Fastify();
  t.after(() => app.close());
  app.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof AppError && error.code === 'route_not_found' ? 404 : 500).send(''),
  );
  app.get<{ Params: { file: string } }>('/:file', (request, reply) =>
    files.send(request, reply, request.params.file),
  );
  assert.equal((await app.inject('/kept.js')).body, 'kept.js');
  rmSync(join(folder, 'kept.js'));
  rmSync(join(folder, 'removed.js'));
  rmSync(join(folder, 'removed.js.br'));
  assert.equal((await app.inject('/kept.js')).body, 'kept.js', 'what was sent once is in memory');
  for (const encoding of ['identity', 'br']) {
    const answer = await app.inject({ url: '/removed.js', headers: { 'accept-encoding': encoding } });
    assert.equal(answer.statusCode, 404);
    assert.equal(answer.headers['cache-control'], undefined);
  }
});
