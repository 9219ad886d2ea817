// What the owner of a database can do to a sealed audit log with SQL, but without SECRET_KEY: `castellan audit verify` says what, and where,
// on the database itself and on an export of it.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { canonicalJson } from '@castellan/contract/canonical-json';
import type { EntriesSeal, EvidenceLine, Seal } from '@castellan/contract/evidence';
import {
  append,
  emptyFrontier,
  frontierRoot,
  leafHash,
} from '@castellan/server/platform/evidence/merkle-tree';
import { rawPublicKey, signNote, writeCheckpoint } from '@castellan/server/platform/evidence/signed-note';
import type { TestClient } from '@castellan/testing/client';
import {
  ADMIN,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { castellan } from '../castellan.ts';
import { createEmptyDatabase } from '../databases.ts';
import { entriesOf, rootOfLines } from './made-log.ts';

const tables = [
  'audit_logs',
  'audit_salts',
  'audit_keys',
  'audit_seal_logs',
  'audit_seals',
  'audit_seal_nodes',
  'audit_missing',
  'audit_log_head',
];
const cleanups: (() => Promise<void>)[] = [];
let folder: string;
let service: TestService;
let admin: TestClient;
let key: string;
/** The head of the whole log, and one of its first seals. */
let heads: string;
let earlyHead: string;

const write = (count: number, members = ''): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, resource_name, details${members === '' ? '' : ', position, salt'})
     select gen_random_uuid(), 'role_created', 'role', 'Editor', '{"address": "192.0.2.1", "after": {"name": "N"}}'${members}
     from generate_series(1, $1)`,
    [count],
  );
/** Draws a position that no entry gets, as a transaction does that is rolled back. */
const leaveHole = (): Promise<unknown> => service.sql(`select nextval('audit_logs_position_seq')`);
const seal = (): Promise<void> => service.service.deps.sealer.run();
const headText = async (query = ''): Promise<string> =>
  (await admin.get(`/api/v1/audit-logs/head${query}`)).text;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-verify-'));
  service = await startTestService({ after: (hook) => void cleanups.push(hook) }, { AUDIT_SEALING: 'off' });
  admin = await signIn(service, ADMIN);
  await write(3, ', null, null');
  await write(4);
  await leaveHole();
  await write(2);
  await seal();
  earlyHead = await headText();
  await service.sql(`update audit_missing set since = since - interval '1 hour'`);
  await write(5);
  await seal();
  await leaveHole();
  await write(3);
  await seal();
  heads = await headText();
  const { out } = await castellan(['audit', 'key'], environment());
  key = out.trim();
  await service.sql('create schema kept');
  for (const table of tables) await service.sql(`create table kept.${table} as table ${table}`);
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

const environment = (): Record<string, string> => ({
  DATABASE_URL: service.databaseUrl,
  SECRET_KEY: TEST_SECRET_KEY,
  DATA_DIR: join(folder, 'data'),
});

async function bringBack(): Promise<void> {
  for (const table of tables)
    await service.sql(`delete from ${table}; insert into ${table} select * from kept.${table}`);
}

const linesNow = async (): Promise<EvidenceLine[]> =>
  (await admin.get('/api/v1/audit-logs/export?evidence=true')).text
    .trimEnd()
    .split('\n')
    .map((line): EvidenceLine => JSON.parse(line));

type Verdict = { code: number | null; text: string };

async function verify(source: string[], given: string, keys: string[] = []): Promise<Verdict> {
  const path = join(folder, `heads-${randomUUID()}`);
  await writeFile(path, given);
  const named = given === '' ? [] : ['--heads', path];
  const { code, out, err } = await castellan(
    ['audit', 'verify', ...source, ...named, ...keys.flatMap((one) => ['--key', one])],
    environment(),
  );
  return { code, text: out + err };
}

/** Returns the verdict over the database, and over an export of it with the key that the operator gave. */
async function verdicts(given = heads): Promise<Verdict[]> {
  const path = join(folder, `export-${randomUUID()}`);
  await writeFile(path, (await admin.get('/api/v1/audit-logs/export?evidence=true')).text);
  return Promise.all([verify(['--database'], given), verify(['--export', path], given, [key])]);
}

test('the database is whole, with a kept head', async () => {
  for (const { code, text } of await verdicts()) {
    assert.equal(code, 0, text);
    assert.match(text, /^seals: 4$/m);
    assert.match(text, /^void: 1$/m);
    assert.match(text, /^unsealed: 0$/m);
  }
  for (const { code, text } of await verdicts('')) {
    assert.equal(code, 3, text);
    assert.match(text, /an operator who rewrote the whole log would pass/);
  }
  for (const { code, text } of await verdicts(earlyHead)) assert.equal(code, 0, text);
});

const at = (offset: number): string =>
  `id = (select id from audit_logs where action = 'role_created' and position is not null order by position offset ${offset} limit 1)`;
const past = `id = (select id from audit_logs where position is null order by id limit 1)`;
const voidPosition = `(select (jsonb_path_query(content::jsonb, '$.void[0][0]'))::bigint from audit_seals where content like '%"void":[[%')`;
const insertAt = (position: string): string =>
  `insert into audit_logs (id, action, resource_type, position) values (gen_random_uuid(), 'role_created', 'role', ${position})`;

const alterations: [string, RegExp, string][] = [
  [
    'an action changed',
    /an entry of seal 0 .* was changed, between 1 and \d/,
    `update audit_logs set action = 'role_deleted' where ${at(0)}`,
  ],
  [
    'a time moved by a microsecond',
    /an entry of seal 0 .* was changed/,
    `update audit_logs set "timestamp" = "timestamp" + interval '1 microsecond' where ${at(1)}`,
  ],
  [
    'another actor',
    /an entry of seal 2 .* was changed/,
    `update audit_logs set actor_id = gen_random_uuid() where ${at(7)}`,
  ],
  [
    'an open detail changed',
    /an entry of seal 2 .* was changed/,
    `update audit_logs set details = jsonb_set(details, '{request_id}', '"x"') where ${at(7)}`,
  ],
  [
    'a personal detail changed',
    /personal data of entry .* was changed|an entry of seal 2 .* was changed/,
    `update audit_logs set details = jsonb_set(details, '{address}', '"192.0.2.2"') where ${at(7)}`,
  ],
  [
    'a name changed',
    /an entry of seal 2 .* was changed/,
    `update audit_logs set resource_name = 'Reader' where ${at(7)}`,
  ],
  [
    'a salt replaced',
    /an entry of seal 2 .* was changed/,
    `update audit_logs set salt = gen_random_uuid() where ${at(7)}`,
  ],
  ['a salt removed', /an entry of seal 2 .* was changed/, `update audit_logs set salt = null where ${at(7)}`],
  [
    'an entry deleted',
    /seal 2 .* has 5 entries, and 4 are there: the entry at position \d+ is missing or moved/,
    `delete from audit_logs where ${at(7)}`,
  ],
  [
    'an old entry deleted',
    /seal 1 .* has 3 entries, and 2 are there/,
    `delete from audit_logs where ${past}`,
  ],
  [
    'an old entry changed',
    /an entry of seal 1 .* was changed/,
    `update audit_logs set action = 'role_deleted' where ${past}`,
  ],
  [
    'an entry moved beyond the end',
    /seal 2 .* has 5 entries, and 4 are there/,
    `update audit_logs set position = 100000 where ${at(7)}`,
  ],
  [
    'an entry moved to a void position',
    /seal 2 .* has 5 entries, and 4 are there/,
    `update audit_logs set position = ${voidPosition} where ${at(7)}`,
  ],
  [
    'two entries exchanged',
    /an entry of seal 2 .* was changed/,
    `update audit_logs a set position = b.position from audit_logs b where a.position in (12, 13) and b.position in (12, 13) and a.id <> b.id`,
  ],
  [
    'an entry inserted in a sealed position',
    /seal 2 .* has 5 entries, and 6 are there/,
    insertAt(`(select position from audit_logs where ${at(7)})`),
  ],
  [
    'an entry inserted in a void position',
    /was inserted at position \d+, which is sealed without it/,
    insertAt(voidPosition),
  ],
  [
    'an entry inserted at position 0',
    /was inserted at position 0, which is sealed without it/,
    insertAt('0'),
  ],
  [
    'an entry inserted at a position below',
    /was inserted at position -7, which is sealed without it/,
    insertAt('-7'),
  ],
  [
    'an old entry inserted',
    /seal 1 .* has 3 entries, and 4 are there/,
    `insert into audit_logs (id, action, resource_type, position, salt) select ((max(id::text)::uuid)::text)::uuid, 'role_created', 'role', null, null from (select overlay(min(id::text) placing 'ffff' from 33) as id from audit_logs where position is null) e`,
  ],
  [
    'an old entry inserted before the sealed ones',
    /was inserted among those of earlier releases/,
    `insert into audit_logs (id, action, resource_type, position, salt) values ('00000000-0000-7000-8000-000000000001', 'role_created', 'role', null, null)`,
  ],
  ['a seal deleted', /is of seal 3, and is before seal 2/, `delete from audit_seals where number = 2`],
  [
    'the last seal deleted',
    /the head of .* is not that of its 3 seals/,
    `delete from audit_seals where number = 3`,
  ],
  [
    'a count in a seal changed',
    /seal 2 .* has 6 entries, and 5 are there/,
    `update audit_seals set content = replace(content, '"count":5', '"count":6') where number = 2`,
  ],
  [
    'the time of a seal changed',
    /the head of .* is not that of its 4 seals: a seal was rewritten/,
    `update audit_seals set content = regexp_replace(content, '"at":"20', '"at":"19') where number = 2`,
  ],
  [
    'entries removed in silence',
    /entries of .* were removed, and no seal says so/,
    `delete from audit_logs a using audit_seals s where s.number = 2 and a.position between s.from_position and s.to_position;
     update audit_seals set removed_by = 3 where number = 2`,
  ],
  [
    'the head removed',
    /the head of .*: the note has no signatures/,
    'update audit_log_head set checkpoint = null',
  ],
  [
    'the head of another size',
    /the head of .*: the signature of .* does not match the note/,
    `update audit_log_head set checkpoint = replace(checkpoint, E'\\n4\\n', E'\\n3\\n')`,
  ],
];

for (const [what, message, statement] of alterations)
  test(`${what}: altered, and where`, async () => {
    await service.sql(statement);
    const found = await verdicts();
    await bringBack();
    for (const { code, text } of found) {
      assert.match(text, message);
      assert.equal(code, 1, text);
    }
  });

for (const [what, statement] of [
  ['a seal that is no JSON', `update audit_seals set content = 'x' where number = 2`],
  ['a seal without its members', `update audit_seals set content = '{"kind":"entries"}' where number = 2`],
  ['a key that is none', `update audit_keys set public_key = '\\x00'`],
  ['a list that is none', `update audit_member_lists set lists = '{"role_created": 5}'`],
] as const)
  test(`${what} in the database: altered`, async () => {
    await service.sql('create table kept.audit_member_lists as table audit_member_lists');
    await service.sql(statement);
    const { code, text } = await verify(['--database'], heads);
    await bringBack();
    await service.sql(
      'delete from audit_member_lists; insert into audit_member_lists select * from kept.audit_member_lists; drop table kept.audit_member_lists',
    );
    assert.equal(code, 1, text);
    assert.match(text, /the audit log was altered/);
  });

/** Changes an entry and makes seals, hashes and, with `sign`, the head anew over what is then there. */
async function rewrite(
  sign: (origin: string, seals: readonly Seal[]) => Promise<string | null>,
): Promise<void> {
  await service.sql(`update audit_logs set action = 'role_deleted' where ${at(7)}`);
  const lines = await linesNow();
  const seals = lines.flatMap((line) => (line.line === 'seal' ? [line.seal] : []));
  const changed = seals[2] as EntriesSeal;
  changed.root = rootOfLines(entriesOf(lines, 2));
  let tree = emptyFrontier;
  for (const one of seals) {
    const content = canonicalJson(one);
    tree = append(tree, leafHash(content)).frontier;
    await service.sql('update audit_seals set content = $1, leaf = $2 where number = $3', [
      content,
      leafHash(content),
      one.number,
    ]);
  }
  const [log] = lines;
  assert.ok(log?.line === 'log');
  await service.sql('update audit_log_head set hashes = $1, checkpoint = $2', [
    tree.hashes,
    await sign(log.origin, seals),
  ]);
}

/** A head that another key signs, which is among the keys in the database. */
async function signedByOther(origin: string, seals: readonly Seal[]): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  await service.sql(
    `insert into audit_keys (key_id, public_key, private_key_sealed, retired_at) values ('other', $1, '\\x00', now())`,
    [rawPublicKey(publicKey)],
  );
  let tree = emptyFrontier;
  for (const one of seals) tree = append(tree, leafHash(canonicalJson(one))).frontier;
  return signNote(writeCheckpoint({ origin, size: tree.size, root: frontierRoot(tree) }), [
    { name: origin, privateKey },
  ]);
}

test('a log that was rewritten from one seal on cannot be signed without SECRET_KEY', async () => {
  for (const [sign, message] of [
    [async () => heads, /is not that of its 4 seals: a seal was rewritten/],
    [async () => null, /the note has no signatures/],
    [signedByOther, /has no signature of a key that is trusted/],
  ] as const) {
    await rewrite(sign);
    // No head is given: the key alone shows it.
    const found = await verdicts('');
    const { status } = await admin.get('/api/v1/audit-logs/head?size=3');
    await bringBack();
    for (const { code, text } of found) {
      assert.match(text, message);
      assert.equal(code, 1, text);
    }
    assert.equal(status, 500, 'no root is signed but of a log whose head is');
  }
});

test('a key that somebody wrote into the database is not listed as one that signs', async () => {
  const { publicKey } = generateKeyPairSync('ed25519');
  await service.sql(
    `insert into audit_keys (key_id, public_key, private_key_sealed, retired_at) values ('other', $1, '\\x00', now())`,
    [rawPublicKey(publicKey)],
  );
  const { code, out, err } = await castellan(['audit', 'key'], environment());
  await bringBack();
  assert.deepEqual([code, out.trim()], [0, key], err);
  assert.match(err, /SECRET_KEY does not open these keys/);
});

test('a key replaced in the database opens nothing', async () => {
  await rewrite(async (origin, seals) => {
    const head = await signedByOther(origin, seals);
    await service.sql(
      `update audit_keys set public_key = (select public_key from audit_keys where key_id = 'other') where key_id <> 'other'`,
    );
    return head;
  });
  const found = await verdicts('');
  await bringBack();
  for (const { code, text } of found) assert.equal(code, 1, text);
});

test('the tables of an earlier day: seals are lost, and nothing counts as altered', async () => {
  await write(2);
  await seal();
  const later = await headText();
  // Only the seals are of an earlier day: their entries wait again.
  for (const table of ['audit_seals', 'audit_missing', 'audit_log_head'])
    await service.sql(`delete from ${table}; insert into ${table} select * from kept.${table}`);
  const sealsAlone = await verdicts(later);
  await bringBack();
  for (const [unsealed, found] of [
    [2, sealsAlone],
    [0, await verdicts(later)],
  ] as const)
    for (const { code, text } of found) {
      assert.equal(code, 3, text);
      assert.match(text, /^lost: 1$/m);
      assert.match(text, new RegExp(`^unsealed: ${unsealed}$`, 'm'));
      assert.match(text, /nothing was found to be altered.* the seals from 4 to 4 of \S+ were lost/);
    }
});

test('new entries wait for their seal, and are not altered', async () => {
  await write(3);
  const found = await verdicts();
  await bringBack();
  for (const { code, text } of found) {
    assert.equal(code, 0, text);
    assert.match(text, /^unsealed: 3$/m);
  }
});

test('a single entry that has waited for more than a minute leaves the database incomplete', async () => {
  await write(1);
  await service.sql(
    `update audit_logs set "timestamp" = now() - interval '2 minutes' where position = (select max(position) from audit_logs)`,
  );
  const { code, text } = await verify(['--database'], heads);
  await bringBack();
  assert.equal(code, 3, text);
  assert.match(text, /for more than a minute/);
});

test('a database that cannot be read says nothing about its log, and one without seals shows nothing', async (t) => {
  const own = environment();
  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  for (const [args, changed, code] of [
    [['--database'], { DATABASE_URL: 'postgres://127.0.0.1:9/none' }, 2],
    [['--database'], { DATABASE_URL: url }, 2],
    [['--database'], { SECRET_KEY: 'another secret key, of 32 bytes or more' }, 2],
    [['--database', '--export', 'x'], {}, 2],
    [[], {}, 2],
  ] as const) {
    const found = await castellan(['audit', 'verify', ...args], { ...own, ...changed });
    assert.equal(found.code, code, found.err);
    assert.match(found.err, /^castellan: /m);
  }
  for (const table of tables.filter((one) => one !== 'audit_logs' && one !== 'audit_log_head'))
    await service.sql(`delete from ${table}`);
  await service.sql(
    'update audit_log_head set log = null, size = 0, hashes = default, checkpoint = null, sealed_position = 0',
  );
  const found = await verify(['--database'], heads);
  await bringBack();
  assert.equal(found.code, 3);
  assert.match(found.text, /nothing was ever sealed in this database/);
});
