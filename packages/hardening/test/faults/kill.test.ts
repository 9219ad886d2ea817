// Acknowledged changes survive any end of the service and its embedded PostgreSQL. KILL_ROUNDS sets how often both are
// killed. It must not change settings of PostgreSQL, so that durability is complete.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  atEnd,
  dataDirWithCluster,
  killAll,
  postmasterPid,
  until,
} from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { ADMIN, type TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { type Child, startChild } from '@castellan/testing/start/child';
import { isRunning } from '@castellan/testing/start/service-process';
import pg from 'pg';
import { assertRecorded, assertUsable, countOf, nothingAcknowledged, writeUntilGone } from './kill-load.ts';
import { type ScriptedSmtp, startScriptedSmtp } from './mail/scripted-smtp.ts';

const scenario = scenariosOf('faults');
const kills = Number(process.env.KILL_ROUNDS || rounds(2, 20));
const writers = 8;
/** Before the kill of each round: enough that every writer has a request running. */
const writesPerRound = 80;
/** MAX_SMTP_CONNECTIONS of the transport: at most this many mails may be sent at a kill without being noted as sent. */
const mailsUnderWay = 5;

const environment = (folder: string, smtp: ScriptedSmtp): Record<string, string> => ({
  DATA_DIR: folder,
  // Each start listens on another port. The issuer must stay the same: otherwise a lost answer to a refresh cannot be
  // repeated.
  PUBLIC_URL: 'http://localhost:8000',
  SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
  FIRST_SUPERUSER_EMAIL: ADMIN.email,
  FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  CONCURRENT_SESSION_LIMIT: '0',
  // The writers repeat a refresh whose answer was lost.
  REFRESH_REUSE_INTERVAL: '600',
  // A sign-in that was killed keeps its slot among the running attempts for half a minute.
  ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
  LOG_LEVEL: 'warn',
});

/** Runs queries on the socket of the service's database. */
async function queryCluster<T>(cluster: string, look: (sql: TestService['sql']) => Promise<T>): Promise<T> {
  const host = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[4] ?? '';
  const client = new pg.Client({ host, port: 5432, user: 'castellan', database: 'castellan', ssl: false });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await look(async (text, values) => (await client.query(text, values)).rows);
  } finally {
    await client.end();
  }
}

async function killBoth(child: Child, folder: string, round: number, tally: Tally): Promise<void> {
  const cluster = join(folder, 'postgres');
  const postmaster = postmasterPid(cluster);
  // Both orders happen. If PostgreSQL dies first, the service still answers without it.
  const order = [() => child.kill('SIGKILL'), () => killAll(folder)];
  for (const kill of round % 2 === 0 ? order : order.reverse()) kill();
  tally.injected(2);
  await child.ended;
  assert.ok(existsSync(join(cluster, 'postmaster.pid')), 'PostgreSQL did not crash');
  await until('the postmaster is dead', () => !isRunning(postmaster));
}

/**
 * Checks that every registration mail was sent once, or twice if a kill came between "250" and the note in the outbox.
 */
async function checkMails(
  sql: TestService['sql'],
  smtp: ScriptedSmtp,
  emails: readonly string[],
): Promise<number> {
  // Mails that dead instances had leased wait until the lease ends, 90 s.
  await sql('update outbox set locked_until = null, run_at = now() where sent_at is null');
  await until('every mail is out', async () => {
    const [row] = await sql<{ waiting: number }>(
      'select count(*)::int as waiting from outbox where sent_at is null',
    );
    return row?.waiting === 0;
  });
  const sent = new Map<string, Set<string>>();
  for (const { id, to } of smtp.messages) sent.set(to, (sent.get(to) ?? new Set()).add(id));
  assert.deepEqual(
    emails.filter((email) => sent.get(email)?.size !== 1),
    [],
    'a mail that was promised never came, or came under two Message-IDs',
  );
  const again = smtp.messages.length - sent.size;
  assert.ok(again <= kills * mailsUnderWay, `${again} mails came twice`);
  return sent.size + 1;
}

async function killRepeatedly(tally: Tally, t: TestContext): Promise<void> {
  const folder = await dataDirWithCluster(t);
  const cluster = join(folder, 'postgres');
  const smtp = await startScriptedSmtp();
  atEnd(t, () => smtp.close());
  const noted = nothingAcknowledged();
  let checked = 0;
  const check = async (url: string, since: number): Promise<void> => {
    await queryCluster(cluster, async (sql) => {
      tally.held(await assertSound({ sql }));
      tally.held(await assertRecorded(sql, noted));
    });
    tally.held(await assertUsable(createClient(url), noted, since));
  };
  for (let round = 1; round <= kills; round += 1) {
    const child = startChild(t, environment(folder, smtp));
    const url = await child.ready();
    // The age of a refresh token does not affect its durability, so older ones are checked only at the end.
    if (round > 1) await check(url, checked);
    checked = noted.refreshTokens.length;
    const wanted = countOf(noted) + writesPerRound;
    const load = Promise.all(
      Array.from({ length: writers }, (_, at) => writeUntilGone(url, `r${round}-w${at}`, noted, tally)),
    );
    await Promise.race([load, until('enough is written', () => countOf(noted) >= wanted)]);
    await killBoth(child, folder, round, tally);
    await load;
  }
  const last = startChild(t, environment(folder, smtp));
  await check(await last.ready(), 0);
  tally.held(await queryCluster(cluster, (sql) => checkMails(sql, smtp, noted.emails)));
  t.diagnostic(`${countOf(noted)} writes were acknowledged, ${smtp.messages.length} mails went out`);
}

scenario(
  'kills of service and PostgreSQL during writes lose no acknowledged change and no mail, and revive no ended session',
  killRepeatedly,
);
