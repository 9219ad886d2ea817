// Requests in every spelling of a path to an instance whose database is not there yet: the readiness gate and the
// router must agree about what belongs to the API. It must send raw bytes, because a client or proxy would normalize
// them.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { createLog } from '@castellan/server/platform/logging/log';
import { startService } from '@castellan/server/service';
import { loadSettings } from '@castellan/server/settings';
import { codeIn } from '@castellan/testing/conformance/described';
import { startTestService, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { readRaw, relayTo, routesOf, sendRaw } from '@castellan/testing/http/fixture';
import { scenariosOf } from '@castellan/testing/scenario';
import { lastFirst } from './fixture.ts';

const scenario = scenariosOf('faults');

/** Returns spellings of the path that some router would accept for it. */
const spellingsOf = (path: string): string[] => [
  path,
  `${path}?a=b`,
  `${path}?`,
  `${path};a=b`,
  `${path}#x`,
  `${path}/`,
  `/${path}`,
  `/.${path}`,
  `/x/..${path}`,
  `/x/%2e%2e${path}`,
  path.toUpperCase(),
  path.replaceAll('/', '//'),
  path.replaceAll('/', '\\'),
  path.replace('api', '%61pi').replace('well', '%77ell'),
  path.replace('api', '%61%70%69').replace('.', '%2e'),
  path.replace('api', '%2561pi'),
  path.replace('/', '/%2f'),
  path.replaceAll('/', '%2F').replace('%2F', '/'),
  path.replace('api', 'api%00'),
  `http://castellan.test${path}`,
  `HTTP://castellan.test${path}`,
  `https://castellan.test:8443${path}`,
  `http://a@b${path}`,
  `http://castellan.test/${path}`,
  `http:${path}`,
  `ftp://castellan.test${path}`,
  `//castellan.test${path}`,
  `http://castellan.test?${path}`,
];

scenario('no spelling of an API path is served before the database is reachable', async (tally, t) => {
  const direct = await startTestService(lastFirst(t));
  const line = await relayTo(lastFirst(t), direct.databaseUrl);
  const routes = (await routesOf(direct)).filter(({ url }) => /^\/(api|\.well-known)\//.test(url));
  await line.cut();
  tally.injected();
  const folder = await mkdtemp(join(tmpdir(), 'castellan-test-'));
  const service = await startService({
    settings: loadSettings({
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: line.url,
      DATA_DIR: folder,
      SECRET_KEY: TEST_SECRET_KEY,
    }),
    log: createLog('info', { write: () => {} }),
    print: () => {},
  });
  atEnd(t, async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });
  assert.ok(routes.length > 20, `${routes.length} routes`);
  for (const { method, path } of routes)
    for (const target of spellingsOf(path)) {
      const answer = readRaw(
        await sendRaw(
          service.url,
          `${method} ${target} HTTP/1.1\r\nhost: castellan.test\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        ),
      );
      // 400: not a valid path. 405: another path of the API, which does not have this method.
      const what = `${method} ${target}: ${answer.text}`;
      // A URL without a path is the front page, which needs no database.
      const isFrontPage = answer.status === 200 && answer.body?.data?.api === 'api/v1';
      assert.ok(isFrontPage || [400, 404, 405, 503].includes(answer.status), what);
      if (target === path) assert.match(codeIn(answer) ?? '', /^(database|temporarily)_unavailable$/, what);
      tally.tried();
      tally.held();
    }
});
