// What is written to the audit log: every action, no secret; and that a failure to write changes no answer.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type AuditAction, auditActionCatalogue, auditActions } from '@castellan/contract/audit';
import { ADMIN, startTestService, type TestService } from '@castellan/testing/harness';
import { type CausedActions, causeActions, environment } from './every-kind.ts';

// Two tests share one run.
let intact: Promise<{ service: TestService; caused: CausedActions }> | undefined;
const hooks: (() => Promise<void>)[] = [];
function serviceWithActions(): NonNullable<typeof intact> {
  intact ??= (async () => {
    const service = await startTestService({ after: (hook) => void hooks.push(hook) }, environment);
    return { service, caused: await causeActions(service) };
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
  for (const { text } of Object.values(auditActionCatalogue)) assert.match(text, /^[A-Z].+\.$/);
});

/** Actions that requests cannot cause within a test; each has a test of its own elsewhere. */
const testedElsewhere: readonly AuditAction[] = [
  'refresh_origin_network_mismatch',
  'refresh_token_reuse',
  'unverified_account_deleted',
  'data_exported',
  'permission_renamed',
  'users_imported',
  'users_exported',
  'signing_key_rotated',
  'signing_key_revoked',
  'signing_keys_reset',
  'database_restored',
  'audit_log_forked',
  'audit_key_rotated',
  // second-factors, passkeys, devices, recovery, requirements
  'second_factor_requested',
  'second_factor_failed',
  'second_factor_locked',
  'second_factor_unlocked',
  'totp_enrolled',
  'totp_removed',
  'totp_suspended',
  'passkey_added',
  'passkey_renamed',
  'passkey_removed',
  'passkey_backup_changed',
  'passkey_counter_regressed',
  'second_factor_reset',
  'recovery_link_used',
  'recovery_codes_created',
  'recovery_code_used',
  'device_trusted',
  'device_forgotten',
  'new_device_sign_in',
  'step_up_succeeded',
  'step_up_failed',
  'step_up_required',
  'role_authentication_changed',
  'permission_authentication_changed',
  // webhooks
  'webhook_paused',
];

test('requests cause every other action, and no entry contains a password, hash or token', async () => {
  const { service, caused } = await serviceWithActions();
  const rows = await service.sql<{ action: AuditAction; text: string }>(
    'select action, a::text as text from audit_logs a',
  );
  const written = new Set(rows.map(({ action }) => action));
  const missing = auditActions.filter((action) => !written.has(action) && !testedElsewhere.includes(action));
  assert.deepEqual(missing, []);
  assert.ok(caused.secrets.length > 12);
  for (const { action, text } of rows) {
    for (const secret of caused.secrets) assert.ok(!text.includes(secret), `${action} holds ${secret}`);
    assert.doesNotMatch(text, /\$argon2|eyJ[\w-]{10}|password_hash|token_hash/);
  }
});

test('every entry of a request contains its id and client address, and names an actor if one is known', async () => {
  const { service } = await serviceWithActions();
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

test('if the table cannot be written every answer stays the same, and each loss is logged without a secret', async (t) => {
  const { caused: expected } = await serviceWithActions();
  const service = await startTestService(t, environment);
  await service.sql('alter table audit_logs rename to audit_logs_away');
  const caused = await causeActions(service);
  assert.deepEqual(caused.outcomes, expected.outcomes);
  const lost = service.logLines.filter((line) => /audit entr(y|ies) lost/.test(line));
  assert.ok(lost.length > 40, `${lost.length}`);
  for (const line of lost) {
    assert.equal(JSON.parse(line).level, 'error');
    assert.ok(JSON.parse(line).action in auditActionCatalogue);
  }
  const log = service.logLines.join('\n');
  for (const secret of caused.secrets) assert.ok(!log.includes(secret), `the log holds ${secret}`);
});

test.after(async () => {
  for (const hook of hooks) await hook();
});
