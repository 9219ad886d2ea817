// An instance whose database has not come yet, asked in every spelling of an address: the gate and the router must not
// disagree about what belongs to the API. It must not ask what a proxy or client would tidy up: raw bytes only.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../../src/platform/log.ts';
import { startService } from '../../../src/service.ts';
import { loadSettings } from '../../../src/settings.ts';
import { atEnd } from '../../embedded/fixture.ts';
import { startTestService, TEST_SECRET_KEY } from '../../harness.ts';
import { readRaw, relayTo, routesOf, sendRaw } from '../../http/fixture.ts';
import { scenariosOf } from '../scenario.ts';
import { lastFirst } from './database-fixture.ts';

const scenario = scenariosOf('faults');

/** One path, in spellings that this or that router takes for it. */
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

scenario('no spelling of an API path gets past a database that has not come yet', async (tally, t) => {
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
      // 400: no address at all. 405: another address of the API, which does not take this method.
      const what = `${method} ${target}: ${answer.text}`;
      assert.ok([400, 404, 405, 503].includes(answer.status), what);
      if (target === path) assert.equal(answer.body?.code, 'database_unavailable', what);
      tally.tried();
      tally.held();
    }
});
