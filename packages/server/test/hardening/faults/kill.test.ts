// What was acknowledged is there after any end of the service and its embedded PostgreSQL.
// It must run on full durability: no setting of PostgreSQL is changed here.
// KILL_ROUNDS: how often everything is killed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { createClient } from '../../client.ts';
import { atEnd, killAll, postmasterPid, temporaryFolder, until } from '../../embedded/fixture.ts';
import { ADMIN, type TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { type Child, startChild } from '../../start/child.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';
import { assertRecorded, assertUsable, countOf, nothingYet, writeUntilGone } from './kill-load.ts';
import { isRunning } from './process-fixture.ts';
import { type SmtpActor, startSmtpActor } from './smtp-actor.ts';

const scenario = scenariosOf('faults');
const kills = Number(process.env.KILL_ROUNDS || rounds(5, 20));
const writers = 8;
/** In each round, before the kill: enough that every writer is amid something. */
const writesPerRound = 80;
/** MAX_SMTP_CONNECTIONS of the transport: a kill may cut so many mails off from the note that they are out. */
const mailsUnderWay = 5;

const environment = (folder: string, actor: SmtpActor): Record<string, string> => ({
  DATA_DIR: folder,
  SMTP_URL: `smtp://127.0.0.1:${actor.port}`,
  FIRST_SUPERUSER_EMAIL: ADMIN.email,
  FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  CONCURRENT_SESSION_LIMIT: '0',
  // A refresh whose answer was lost is repeated with the token before it.
  REFRESH_REUSE_INTERVAL: '600',
  // A login that was killed keeps its place among the running attempts for half a minute.
  ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
  LOG_LEVEL: 'warn',
});

/** Beside the service, on the socket of its database. */
async function lookInto<T>(cluster: string, look: (sql: TestService['sql']) => Promise<T>): Promise<T> {
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
  // Both orders happen: PostgreSQL first takes its writes from under a service that still answers.
  const order = [() => child.kill('SIGKILL'), () => killAll(folder)];
  for (const kill of round % 2 === 0 ? order : order.reverse()) kill();
  tally.injected(2);
  await child.ended;
  assert.ok(existsSync(join(cluster, 'postmaster.pid')), 'that was no crash');
  await until('the postmaster is dead', () => !isRunning(postmaster));
}

/** Every mail of a registration is out once, or twice where a kill fell between "250" and the note of it. */
async function judgeMails(
  sql: TestService['sql'],
  actor: SmtpActor,
  emails: readonly string[],
): Promise<number> {
  // What dead instances had taken is theirs until their lease ends, 90 s.
  await sql('update outbox set locked_until = null, run_at = now() where sent_at is null');
  await until('every mail is out', async () => {
    const [row] = await sql<{ waiting: number }>(
      'select count(*)::int as waiting from outbox where sent_at is null',
    );
    return row?.waiting === 0;
  });
  const sent = new Map<string, Set<string>>();
  for (const { id, to } of actor.messages) sent.set(to, (sent.get(to) ?? new Set()).add(id));
  assert.deepEqual(
    emails.filter((email) => sent.get(email)?.size !== 1),
    [],
    'a mail that was promised never came, or came under two Message-IDs',
  );
  const again = actor.messages.length - sent.size;
  assert.ok(again <= kills * mailsUnderWay, `${again} mails came twice`);
  return sent.size + 1;
}

async function killAgainAndAgain(tally: Tally, t: TestContext): Promise<void> {
  const folder = temporaryFolder(t);
  const cluster = join(folder, 'postgres');
  const actor = await startSmtpActor();
  atEnd(t, () => actor.close());
  const noted = nothingYet();
  let checked = 0;
  const judge = async (url: string, since: number): Promise<void> => {
    await lookInto(cluster, async (sql) => {
      tally.held(await assertSound({ sql }));
      tally.held(await assertRecorded(sql, noted));
    });
    tally.held(await assertUsable(createClient(url), noted, since));
  };
  for (let round = 1; round <= kills; round += 1) {
    const child = startChild(t, environment(folder, actor));
    const url = await child.ready();
    // A refresh token is not less durable for its age, so the older ones are asked for at the end only.
    if (round > 1) await judge(url, checked);
    checked = noted.refreshTokens.length;
    const wanted = countOf(noted) + writesPerRound;
    const load = Promise.all(
      Array.from({ length: writers }, (_, at) => writeUntilGone(url, `r${round}-w${at}`, noted, tally)),
    );
    await Promise.race([load, until('enough is written', () => countOf(noted) >= wanted)]);
    await killBoth(child, folder, round, tally);
    await load;
  }
  const last = startChild(t, environment(folder, actor));
  await judge(await last.ready(), 0);
  tally.held(await lookInto(cluster, (sql) => judgeMails(sql, actor, noted.emails)));
  t.diagnostic(`${countOf(noted)} writes were acknowledged, ${actor.messages.length} mails went out`);
}

scenario(
  'kills of service and PostgreSQL amid writes lose nothing acknowledged, revive no ended session, and leave every mail to be sent',
  killAgainAndAgain,
);
