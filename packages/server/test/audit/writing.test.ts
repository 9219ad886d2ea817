// What the audit log is given: every kind of event, no secret; and that losing it changes no answer.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type AuditAction, auditActionCatalogue, auditActions } from '@castellan/contract/audit';
import pg from 'pg';
import { ADMIN, eventually, signIn, startTestService, type TestService } from '../harness.ts';
import { environment, type Walk, walk } from './every-kind.ts';

// One walk serves two tests.
let intact: Promise<{ service: TestService; walked: Walk }> | undefined;
const hooks: (() => Promise<void>)[] = [];
function walkedService(): NonNullable<typeof intact> {
  intact ??= (async () => {
    const service = await startTestService({ after: (hook) => void hooks.push(hook) }, environment);
    return { service, walked: await walk(service) };
  })();
  return intact;
}

async function sourceText(): Promise<string> {
  const texts: string[] = [];
  for (const folder of ['../../src/', '../../../cli/src/']) {
    const root = new URL(folder, import.meta.url);
    for (const file of await readdir(root, { recursive: true }))
      if (file.endsWith('.ts') && !file.endsWith('.test.ts'))
        texts.push(await readFile(new URL(file, root), 'utf8'));
  }
  return texts.join('\n');
}

test('every action of the catalogue is written somewhere in the sources, and each is explained', async () => {
  const text = await sourceText();
  const unused = auditActions.filter((action) => !text.includes(`'${action}'`));
  assert.deepEqual(unused, []);
  for (const sentence of Object.values(auditActionCatalogue)) assert.match(sentence, /^[A-Z].+\.$/);
});

/** Written by events that no walk by HTTP causes within a test; each has a test of its own elsewhere. */
const beyondTheWalk: readonly AuditAction[] = [
  'refresh_origin_network_mismatch',
  'refresh_token_reuse',
  'unverified_account_deleted',
  'signing_key_rotated',
];

test('a walk through the service writes every other action, and no password, hash or token stands in any entry', async () => {
  const { service, walked } = await walkedService();
  const rows = await service.sql<{ action: AuditAction; text: string }>(
    'select action, a::text as text from audit_logs a',
  );
  const written = new Set(rows.map(({ action }) => action));
  const missing = auditActions.filter((action) => !written.has(action) && !beyondTheWalk.includes(action));
  assert.deepEqual(missing, []);
  assert.ok(walked.secrets.length > 12);
  for (const { action, text } of rows) {
    for (const secret of walked.secrets) assert.ok(!text.includes(secret), `${action} holds ${secret}`);
    assert.doesNotMatch(text, /\$argon2|eyJ[\w-]{10}|password_hash|token_hash/);
  }
});

test('every entry of a request holds its id and the client address, and names an actor when one is known', async () => {
  const { service } = await walkedService();
  const rows = await service.sql<{ action: string; details: Record<string, unknown> }>(
    `select action, details from audit_logs where actor_id is not null or resource_type = 'security_event'`,
  );
  for (const { action, details } of rows) {
    assert.equal(details.address, '127.0.0.1', action);
    assert.equal(typeof details.request_id, 'string', action);
  }
  const [owner] = await service.sql<{ id: string }>('select id from users where email = $1', [ADMIN.email]);
  const made = await service.sql<Record<string, string>>(
    `select actor_id, actor_email, resource_type from audit_logs where action ~ '^(role|permission)(_group)?_(created|deleted)$'`,
  );
  assert.ok(made.length >= 8);
  for (const row of made) {
    assert.deepEqual([row.actor_id, row.actor_email], [owner?.id, ADMIN.email]);
    assert.notEqual(row.resource_type, 'security_event');
  }
});

test('without a table to write to every answer is the same, each loss is logged, and no secret with it', async (t) => {
  const { walked: expected } = await walkedService();
  const service = await startTestService(t, environment);
  await service.sql('alter table audit_logs rename to audit_logs_away');
  const walked = await walk(service);
  assert.deepEqual(walked.outcomes, expected.outcomes);
  const lost = service.logLines.filter((line) => /audit entr(y|ies) lost/.test(line));
  assert.ok(lost.length > 40, `${lost.length}`);
  for (const line of lost) {
    assert.equal(JSON.parse(line).level, 'error');
    assert.ok(JSON.parse(line).action in auditActionCatalogue);
  }
  const log = service.logLines.join('\n');
  for (const secret of walked.secrets) assert.ok(!log.includes(secret), `the log holds ${secret}`);
});

test('while the table is locked, a refusal and a change are answered as ever, within seconds, and the change stands', async (t) => {
  const service = await startTestService(t);
  const admin = await signIn(service, ADMIN);
  const nobody = service.client();
  await nobody.get('/api/v1/auth/csrf-token');
  const locker = new pg.Client(service.databaseUrl);
  await locker.connect();
  await locker.query('begin; lock table audit_logs in access exclusive mode');
  const started = performance.now();
  try {
    const [refused, made] = await Promise.all([
      nobody.login({ email: 'nobody@example.com', password: 'Wrong#Quartz82Lime' }),
      admin.post('/api/v1/roles', { name: 'Made meanwhile' }),
    ]);
    assert.equal(refused.status, 422, refused.text);
    assert.equal(made.status, 201, made.text);
  } finally {
    await locker.end();
  }
  // 3 s for an event, the lock time-out of 5 s for a change, and room for a slow machine.
  assert.ok(performance.now() - started < 15_000);
  assert.equal((await service.sql("select from roles where name = 'Made meanwhile'")).length, 1);
  await eventually(
    () => (service.logLines.some((line) => /audit entr(y|ies) l(ost|ate)/.test(line)) ? true : undefined),
    'the loss in the log',
  );
});

test.after(async () => {
  for (const hook of hooks) await hook();
});
