// Who asks for the feed: more readers at once than there are places for, cursors that no feed has made, and credentials that end while
// their streams are open.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type FeedReader, openFeed, openLiveFeed } from '@castellan/testing/feed/reader';
import { eventually, startTestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken } from '@castellan/testing/service-accounts/token-services';
import { openPair } from '../fixture.ts';

type Opened = { caller: number; feed: FeedReader | undefined; status: number };

const scenario = scenariosOf('feed');
const FEED = '/api/v1/access/feed';
const STREAMS = 10;
const PER_CALLER = 4;

scenario(
  'of readers that ask at once, as many get a stream as the limits allow, and every place is given back',
  async (tally, t) => {
    const service = await startTestService(t, {
      FEED_STREAMS: String(STREAMS),
      FEED_STREAMS_PER_CALLER: String(PER_CALLER),
    });
    const callers = [];
    for (let count = 0; count < 3; count += 1)
      callers.push(await addServiceAccount(service, { permissions: ['access.watch'] }));
    for (let round = 0; round < rounds(3, 20); round += 1) {
      await eventually(
        () => (service.service.deps.feed?.stats().streams === 0 ? true : undefined),
        'no streams',
      );
      const answers: Opened[] = await Promise.all(
        callers.flatMap(({ key }, caller) =>
          Array.from({ length: 15 }, () =>
            openFeed(service.url, key).then(
              (feed) => ({ caller, feed, status: 200 }),
              (error: { status: number }) => ({ caller, feed: undefined, status: error.status }),
            ),
          ),
        ),
      );
      tally.tried(answers.length);
      const open = answers.filter(({ feed }) => feed);
      assert.equal(open.length, STREAMS);
      for (const caller of callers.keys())
        assert.ok(open.filter((one) => one.caller === caller).length <= PER_CALLER);
      for (const { status } of answers) assert.ok([200, 429, 503].includes(status), String(status));
      tally.held(answers.length);
      for (const { feed } of open) feed?.close();
    }
  },
);

const uuid = randomUUID();
const hostile = [
  '1',
  '.',
  `1.${uuid}.`,
  `-1.${uuid}`,
  `1e3.${uuid}`,
  `0x1.${uuid}`,
  ` 1.${uuid}`,
  `1.${uuid.toUpperCase()}A`,
  `${'9'.repeat(16)}.${uuid}`,
  `${'9'.repeat(4_000)}.${uuid}`,
  `1.${'a'.repeat(4_000)}`,
  `1.${uuid}' or '1'='1`,
  `1.${uuid}; drop table feed_log`,
  `١.${uuid}`,
  'null',
  'undefined',
  '[object Object]',
  '{}',
  '%00',
  '../../etc/passwd',
];
/** They could be, and no log has them. */
const unknown = [
  `0.${uuid}`,
  `1.${uuid}`,
  `${'9'.repeat(15)}.${uuid}`,
  '0.00000000-0000-0000-0000-000000000000',
];

scenario(
  'a cursor that no feed has made is refused, or makes its reader forget everything',
  async (tally, t) => {
    const service = await startTestService(t);
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    for (const cursor of hostile)
      for (const accept of ['application/json', 'text/event-stream'])
        for (const path of [`${FEED}?after=${encodeURIComponent(cursor)}`, FEED]) {
          // Pages have no Last-Event-ID. Headers have bytes only, and `fetch` trims them.
          const isSent = accept === 'text/event-stream' && /^[!-~]([ -~]*[!-~])?$/.test(cursor);
          if (path === FEED && !isSent) continue;
          const headers: Record<string, string> = { authorization: `Bearer ${key}`, accept };
          if (path === FEED) headers['last-event-id'] = cursor;
          const answer = await fetch(service.url + path, { headers });
          tally.tried();
          const body = await answer.text();
          // A query that is longer than any cursor is refused before it is read.
          const isLong = cursor.length > 100 && path !== FEED;
          const [status, code] = isLong ? [422, 'validation_failed'] : [400, 'invalid_cursor'];
          assert.equal(answer.status, status, `${path} ${accept}: ${body}`);
          assert.equal(JSON.parse(body).code, code);
          tally.held();
        }
    for (const cursor of unknown) {
      const feed = await openFeed(service.url, key, { cursor });
      tally.tried();
      const reset = await feed.until(({ event }) => event === 'reset', 'reset');
      assert.match(String(reset.data.reason), /^(unknown_cursor|other_history)$/);
      assert.equal(feed.messages[0]?.data.resumed, false);
      feed.close();
      tally.held();
    }
  },
);

scenario(
  'every stream of a credential ends on both instances when it may no longer read, and no other does',
  async (tally, t) => {
    const { service, twin } = await openPair(t);
    const endings = {
      'update api_keys set revoked_at = now() where service_account_id = $1': 'key',
      'update service_accounts set is_active = false where id = $1': 'both',
      'delete from service_account_roles where service_account_id = $1': 'both',
      'update service_accounts set token_epoch = token_epoch + 1 where id = $1': 'token',
      'delete from service_accounts where id = $1': 'both',
    };
    const others = await addServiceAccount(service, { permissions: ['access.watch'] });
    const staying = [await openLiveFeed(service.url, others.key), await openLiveFeed(twin.url, others.key)];
    let ended = 0;
    for (const feed of staying) void feed.ended.then(() => (ended += 1));
    for (const [statement, concerned] of Object.entries(endings)) {
      const account = await addServiceAccount(service, { permissions: ['access.watch'] });
      const credentials = { key: account.key, token: await clientToken(service, account) };
      const open: FeedReader[] = [];
      for (const [kind, credential] of Object.entries(credentials))
        if (concerned === kind || concerned === 'both')
          for (const { url } of [service, twin, service, twin])
            open.push(await openLiveFeed(url, credential));
      tally.tried(open.length);
      await service.sql(statement, [account.id]);
      await Promise.all(open.map((feed) => feed.ended));
      for (const [kind, credential] of Object.entries(credentials))
        if (concerned === kind || concerned === 'both')
          await assert.rejects(openFeed(service.url, credential), /^Error: 40[13] /);
      tally.held(open.length);
    }
    assert.equal(ended, 0);
    tally.held(staying.length);
    for (const feed of staying) feed.close();
  },
);
