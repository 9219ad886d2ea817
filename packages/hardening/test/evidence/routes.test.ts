// The operations of the sealed audit log: numbers that no log has, ids of other records, callers who may not read it, and an export while
// entries are written, sealed and removed.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { hashOfEntry, hashOfSeal, personalHash } from '@castellan/server/modules/evidence/leaves';
import type { evidenceLines } from '@castellan/server/modules/evidence/lines';
import { append, emptyFrontier, frontierRoot } from '@castellan/server/platform/evidence/merkle-tree';
import { readCheckpoint, readNote } from '@castellan/server/platform/evidence/signed-note';
import { createClient } from '@castellan/testing/client';
import { createVerifiedUser, signIn } from '@castellan/testing/harness';
import { scenariosOf } from '@castellan/testing/scenario';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import pg from 'pg';
import { openPair, type Pair } from '../fixture.ts';

type EvidenceLine = ReturnType<typeof evidenceLines> extends AsyncGenerator<infer L> ? L : never;

const scenario = scenariosOf('fuzzing');
const LOG = '/api/v1/audit-logs';
/** Of the whole numbers, the last three are the greatest that are exact, one more, and the greatest of a bigint. */
const NUMBERS = [
  ...['-1', '-9007199254740991', '0', '1', '2', '3', '4', '255', '256', '257', '2147483648', '4294967296'],
  ...['9007199254740991', '9007199254740992', '9223372036854775807', '18446744073709551616'],
  ...[
    '1.5',
    '1e3',
    '1e400',
    '-0',
    '+1',
    '0x1',
    ' 1',
    '٣',
    'NaN',
    'Infinity',
    'null',
    '',
    '1,2',
    '[1]',
    "1'--",
    '\u0000',
  ],
];
const insert = `insert into audit_logs (id, action, resource_type, details, "timestamp")
  select gen_random_uuid(), 'role_created', 'role', '{"address": "192.0.2.1"}', now() - $2::float8 * interval '1 day'
  from generate_series(1, $1)`;

async function sealed(pair: Pair, seals: number): Promise<void> {
  for (let seal = 0; seal < seals; seal += 1) {
    await pair.service.sql(insert, [2, 0]);
    await pair.service.service.deps.sealer.run();
  }
}

scenario(
  'seals and heads that no log has are refused, and no wrong head is signed',
  async ({ tried, held }, t) => {
    const pair = await openPair(t, { AUDIT_SEALING: 'off' });
    await sealed(pair, 3);
    const { admin } = pair;
    const whole = readCheckpoint(readNote((await admin.get(`${LOG}/head`)).text).text);
    assert.equal(whole.size, 3);
    const queries = [
      ...NUMBERS.flatMap((one) => [`head?size=${one}`, `seals?after=${one}`, `seals?limit=${one}`]),
      ...NUMBERS.flatMap((from) => NUMBERS.map((to) => `consistency?from=${from}&to=${to}`)),
      ...['', 'x', randomUUID(), `${randomUUID()}'`].flatMap((log) => [
        `head?log=${log}`,
        `seals?log=${log}`,
        `consistency?from=1&log=${log}`,
      ]),
    ];
    for (const query of queries) {
      const answer = await admin.get(`${LOG}/${encodeURI(query).replaceAll('+', '%2B')}`);
      tried();
      if (answer.status === 200) {
        const [, size] = /^(?:head\?size|consistency\?from)=([0-9]+)/.exec(query) ?? [];
        if (size !== undefined) assert.ok(Number(size) <= 3, query);
        if (query.startsWith('head?size')) {
          const head = readCheckpoint(readNote(answer.text).text);
          assert.deepEqual([head.origin, head.size], [whole.origin, Number(size)], query);
          if (head.size === whole.size) assert.deepEqual(head.root, whole.root);
        }
      } else {
        assert.ok([400, 404, 422].includes(answer.status), `${query}: ${answer.status} ${answer.text}`);
      }
      held();
    }
  },
);

scenario(
  'nobody without audit_log.read gets a head, a seal, a proof or the log',
  async ({ tried, held }, t) => {
    const pair = await openPair(t, { AUDIT_SEALING: 'off' });
    await sealed(pair, 1);
    const { service, admin } = pair;
    const [entry] = await service.sql<{ id: string }>('select id from audit_logs order by position limit 1');
    const paths = [
      'head',
      'head?size=1',
      'seals',
      'consistency?from=1',
      `${entry?.id}/proof`,
      'export?evidence=true',
    ];
    const user = await signIn(service, await createVerifiedUser(service));
    const account = await addServiceAccount(service, { permissions: ['access.watch', 'webhook.read'] });
    const narrowed = await addServiceAccount(service, { permissions: ['audit_log.read'], narrowedTo: [] });
    const stranger = createClient(service.url);
    const bearing = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    for (const path of paths) {
      const url = `${LOG}/${path}`;
      const answers = [
        [401, await stranger.get(url)],
        [403, await user.get(url)],
        [403, await stranger.get(url, bearing(account.key))],
        [403, await stranger.get(url, bearing(narrowed.key))],
        [401, await stranger.get(url, bearing(`${account.key}x`))],
      ] as const;
      for (const [status, answer] of answers) {
        tried();
        assert.equal(answer.status, status, `${path}: ${answer.text}`);
        held();
      }
      assert.equal((await admin.get(url)).status, 200, path);
    }
  },
);

scenario(
  'the ids of other records, and of entries that never were, have no proof',
  async ({ tried, held }, t) => {
    const pair = await openPair(t, { AUDIT_SEALING: 'off' });
    await sealed(pair, 2);
    const { service, admin } = pair;
    const others = await service.sql<{ id: string }>(
      `select id from users union all select id from roles union all select id from sessions
     union all select id from audit_seal_logs union all select resource_id::uuid from audit_logs where resource_id ~ '^[0-9a-f]{8}-'`,
    );
    const ids = [
      ...others.map(({ id }) => id),
      ...['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', randomUUID()],
      ...['0', '1', 'head', '..%2Fhead', '%00', `${randomUUID()}%27`, 'x'.repeat(4_000)],
    ];
    for (const id of ids) {
      const answer = await admin.get(`${LOG}/${id}/proof`);
      tried();
      assert.ok([400, 404, 414, 422].includes(answer.status), `${id}: ${answer.status} ${answer.text}`);
      held();
    }
    // An entry that somebody has put where no entry may be is not proved.
    for (const position of [0, -5, 1]) {
      const id = randomUUID();
      await service.sql(
        `insert into audit_logs (id, action, resource_type, position) values ($1, 'role_created', 'role', $2)`,
        [id, position],
      );
      const answer = await admin.get(`${LOG}/${id}/proof`);
      tried();
      assert.equal(answer.status, 409, answer.text);
      held();
    }
  },
);

/** Asserts that all that an export says fits together, as a verifier does. */
function assertWhole(text: string): void {
  let [leaves, log, seals, entries] = [emptyFrontier, emptyFrontier, 0, 0];
  let isEnded = false;
  for (const line of text.trimEnd().split('\n')) {
    const one: EvidenceLine = JSON.parse(line);
    if (one.line === 'entry') {
      const { line: _, seal, personal, salt, ...leaf } = one;
      assert.equal(seal, seals);
      assert.ok(personal && salt && personalHash(salt, personal) === leaf.personal_hash);
      leaves = append(leaves, hashOfEntry(leaf)).frontier;
      entries += 1;
    } else if (one.line === 'seal') {
      const { seal, is_removed } = one;
      if ('root' in seal && 'count' in seal && !is_removed) {
        assert.equal(seal.count, entries);
        assert.equal(frontierRoot(leaves).toString('base64'), seal.root);
      } else assert.equal(entries, 0);
      log = append(log, hashOfSeal(seal)).frontier;
      [leaves, entries, seals] = [emptyFrontier, 0, seals + 1];
    } else if (one.line === 'head') {
      const head = readCheckpoint(readNote(one.checkpoint).text);
      assert.deepEqual([head.size, head.root], [seals, frontierRoot(log)]);
      isEnded = true;
    }
  }
  assert.ok(isEnded, 'the export ends with a head');
}

scenario('exports while entries are written, sealed and removed are whole', async ({ tried, held }, t) => {
  const pair = await openPair(t, { AUDIT_SEALING: 'off' });
  const { service, twin, admin } = pair;
  // A seal is removed when its newest entry is old: these have seals without those of the start.
  await service.service.deps.sealer.run();
  for (let seal = 0; seal < 20; seal += 1) {
    await service.sql(insert, [25, 20]);
    await service.service.deps.sealer.run();
  }
  let isOver = false;
  const writers = [0, 1].map(async (writer) => {
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    for (let at = 0; !isOver; at += 1) {
      await client.query('begin');
      await client.query(insert, [5, at % 2 === 0 ? 20 : 0]);
      await client.query(at % 6 === writer ? 'rollback' : 'commit');
    }
    await client.end();
  });
  const sealers = [service, twin].map(async (one) => {
    while (!isOver) await one.service.deps.sealer.run();
  });
  const removals = (async () => {
    let removed = 0;
    while (!isOver) removed += await twin.service.deps.sealer.removeOld(10);
    return removed;
  })();
  try {
    for (let round = 0; round < 8; round += 1) {
      const answers = await Promise.all(
        [0, 1].map((index) => pair.at(admin, index).get(`${LOG}/export?evidence=true`)),
      );
      for (const answer of answers) {
        tried();
        assert.equal(answer.status, 200, answer.text.slice(0, 500));
        assertWhole(answer.text);
        held();
      }
    }
  } finally {
    isOver = true;
    await Promise.all([...writers, ...sealers, removals]);
  }
  assert.ok((await removals) > 0, 'entries were removed meanwhile');
});
