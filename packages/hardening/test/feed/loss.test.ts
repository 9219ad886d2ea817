// No change that a live reader of the feed should learn of is lost: while the feed is turned on under load, with long and rolled
// back transactions, with connections that end in the middle of a poll, and from one instance to the next.
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { type FeedReader, openFeed, openLiveFeed } from '@castellan/testing/feed/reader';
import { eventually, startTestService, type TestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import pg from 'pg';
import { idsOf, LONG_MS, reachEnd, WRITERS, withWriters } from './writers.ts';

const scenario = scenariosOf('feed');

scenario(
  'a feed that is turned on while 50 writers write loses nothing from when it is live',
  async (tally, t) => {
    const service = await startTestService(t);
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    await withWriters(service, async (writing) => {
      // Transactions that have looked whether the feed is on are open now.
      await wait(LONG_MS / 3);
      const feed = await openLiveFeed(service.url, key);
      const liveAt = performance.now();
      const written = await writing;
      tally.tried(written.length);
      await reachEnd(service, feed);
      const found = idsOf(feed);
      const expected = written.filter((one) => one.isCommitted && one.endsAt > liveAt);
      assert.ok(expected.length > WRITERS, `${expected.length} changes after it was live`);
      assert.deepEqual(
        expected.filter(({ id }) => !found.has(id)),
        [],
      );
      const undone = written.filter(({ isCommitted }) => !isCommitted);
      assert.deepEqual(
        undone.filter(({ id }) => found.has(id)),
        [],
      );
      tally.held(expected.length + undone.length);
      feed.close();
    });
  },
);

scenario(
  'a transaction that looked before the feed was on keeps it from being live until it ends',
  async (tally, t) => {
    const service = await startTestService(t);
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    const open = new pg.Client(service.databaseUrl);
    await open.connect();
    try {
      await open.query("begin; update users set first_name = 'Early'");
      const feed = await openFeed(service.url, key);
      // Three beats later it is not live, however long that takes.
      await eventually(
        () => (feed.messages.filter(({ event }) => event === 'beat').length >= 3 ? true : undefined),
        'beats',
      );
      assert.ok(feed.messages.every(({ data }) => data.live !== true));
      tally.held(feed.messages.length);
      await open.query('commit');
      await feed.until(({ data }) => data.live === true, 'live');
      feed.close();
      tally.tried();
      tally.held();
    } finally {
      await open.end();
    }
  },
);

scenario(
  'readers that go from instance to instance, while connections end, have every change',
  async (tally, t) => {
    const service = await startTestService(t);
    const instances = [service, await service.another(), await service.another()];
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    await withWriters(service, async (writing) => {
      let isWriting = true;
      const done = writing.finally(() => {
        isWriting = false;
      });
      const feeds = [await openLiveFeed(service.url, key)];
      const liveAt = performance.now();
      for (let turn = 1; isWriting; turn += 1) {
        await wait(250);
        const [{ ended } = { ended: 0 }] = await service.sql<{ ended: number }>(
          `select count(pg_terminate_backend(pid))::integer as ended from pg_stat_activity
           where datname = current_database() and application_name = 'castellan' and query like '%feed_poll%'`,
        );
        tally.injected(ended);
        const last = feeds.at(-1) as FeedReader;
        last.close();
        const { url } = instances[turn % instances.length] as TestService;
        // A connection that has just ended may be that of the authorization.
        const next = await eventually(
          () => openFeed(url, key, { cursor: last.cursor() }).catch(() => undefined),
          'a stream',
        );
        const hello = await next.until(({ event }) => event === 'hello', 'hello');
        assert.equal(hello.data.resumed, true);
        feeds.push(next);
      }
      const written = await done;
      tally.tried(written.length);
      await reachEnd(service, feeds.at(-1) as FeedReader);
      const found = idsOf(...feeds);
      const expected = written.filter((one) => one.isCommitted && one.endsAt > liveAt);
      assert.deepEqual(
        expected.filter(({ id }) => !found.has(id)),
        [],
      );
      tally.held(expected.length);
      for (const feed of feeds) feed.close();
    });
  },
);

scenario('a log that began anew, or lost its end, makes readers forget everything', async (tally, t) => {
  const service = await startTestService(t);
  const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
  for (let round = 0; round < rounds(1, 5); round += 1)
    for (const [statement, what] of [
      // What a crash before the log was flushed, or a failover to a standby that was behind, leaves.
      [
        'update feed_log set stamp = gen_random_uuid() where seq = (select max(seq) from feed_log)',
        'another stamp',
      ],
      ['delete from feed_log', 'no row'],
      // What a restore leaves.
      ['delete from feed_log; delete from feed_state; insert into feed_state default values', 'restored'],
    ] as const) {
      const feed = await openLiveFeed(service.url, key);
      await reachEnd(service, feed);
      await service.sql(statement);
      tally.injected();
      await feed.until(({ event }) => event === 'reset', what);
      await reachEnd(service, feed);
      feed.close();
      tally.tried();
      tally.held(2);
    }
});

scenario(
  'a reader that takes nothing holds up nobody, and is cut off or told to begin anew',
  async (tally, t) => {
    const service = await startTestService(t);
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    const slow = await openFeed(service.url, key, { paused: true });
    const other = await openLiveFeed(service.url, key);
    for (let round = 0; round < 20; round += 1) {
      await service.sql(
        "insert into feed_queue (type, ref) select 'user', gen_random_uuid() from generate_series(1, 20000)",
      );
      tally.tried();
    }
    await reachEnd(service, other);
    slow.response.resume();
    await Promise.race([slow.ended, slow.until(({ data }) => data.reason === 'behind', 'behind')]);
    tally.held(2);
    slow.close();
    other.close();
  },
);
