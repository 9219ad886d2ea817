// Instances as processes that can be killed, each at an address that its successor keeps; and a reader that goes between them.
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { type FeedReader, openFeed } from '@castellan/testing/feed/reader';
import { ADMIN, eventually, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { type Child, startChild } from '@castellan/testing/start/child';
import { idsOf, reachEnd } from './writers.ts';

export type Instance = {
  url: string;
  kill(): Promise<void>;
  /** Starts it at the same address; on another database, if one is named. */
  restart(databaseUrl?: string): Promise<void>;
};

/** Starts an instance that accepts the tokens of the instances of the harness. */
export async function startInstance(t: TestContext, databaseUrl: string): Promise<Instance> {
  const port = await freePort();
  const start = async (url: string): Promise<Child> => {
    const child = startChild(t, {
      DATABASE_URL: url,
      HOST: '127.0.0.1',
      PORT: String(port),
      SECRET_KEY: TEST_SECRET_KEY,
      PUBLIC_URL: 'http://castellan.test',
      FIRST_SUPERUSER_EMAIL: ADMIN.email,
      FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      CONCURRENT_SESSION_LIMIT: '0',
      DATABASE_POOL_SIZE: '6',
      LOG_LEVEL: 'info',
    });
    await child.ready();
    return child;
  };
  let child = await start(databaseUrl);
  return {
    url: `http://127.0.0.1:${port}`,
    async kill() {
      child.kill('SIGKILL');
      await child.ended;
    },
    async restart(url = databaseUrl) {
      child = await start(url);
    },
  };
}

export type Witness = {
  /** Resolves with the ids of all changes that it was told, after a change that comes after all others. */
  end(service: Pick<TestService, 'sql'>): Promise<Set<string>>;
  /** How often a stream did not go on from its cursor. */
  readonly forgotten: number;
  /** How many streams it has read. */
  readonly streams: number;
};

/** Reads the feed for a moment at each address in turn, as a guard does whose connections end, and goes on from its cursor. */
export function startWitness(
  t: TestContext,
  first: FeedReader,
  urls: readonly string[],
  key: string,
): Witness {
  const feeds = [first];
  let isEnding = false;
  let forgotten = 0;
  const last = (): FeedReader => feeds.at(-1) ?? first;
  const reading = (async () => {
    for (let turn = 1; !isEnding; turn += 1) {
      await Promise.race([last().ended, pause(Math.random() * 400)]);
      last().close();
      const url = urls[turn % urls.length] ?? '';
      const next = await openFeed(url, key, { cursor: last().cursor() }).catch(() => undefined);
      const hello = await next?.until(({ event }) => event === 'hello', 'hello').catch(() => undefined);
      if (!next || !hello) continue;
      if (hello.data.resumed !== true) forgotten += 1;
      feeds.push(next);
    }
  })();
  // Of a scenario that fails before it ends the witness.
  atEnd(t, async () => {
    isEnding = true;
    last().close();
    await reading;
  });
  return {
    async end(service) {
      isEnding = true;
      await reading;
      const rest = await eventually(
        () => openFeed(urls[0] ?? '', key, { cursor: last().cursor() }).catch(() => undefined),
        'a stream',
      );
      last().close();
      feeds.push(rest);
      await reachEnd(service, rest);
      rest.close();
      return idsOf(...feeds);
    },
    get forgotten() {
      return forgotten;
    },
    get streams() {
      return feeds.length;
    },
  };
}
