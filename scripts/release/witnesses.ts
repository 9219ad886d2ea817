// What this version adds beside its answers, watched while instances of two versions write: the change feed, a webhook and the sealed audit
// log. Instances of the earlier version know of none of them, and only the database notes what they do.
// It must not count what happened before it began.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { fetchCsrf } from '../../bench/service/service.ts';
import { ask, dataOf, type Load } from '../../deploy/ha/load.ts';

/** Requests of the load that may have been under way when a witness began. */
const UNDER_WAY = 8;
const POLL_MS = 100;
const PATIENCE_MS = 60_000;

export type Witnesses = {
  /** Rejects unless all that was acknowledged since the beginning was told. Call it after the load has stopped. */
  judge(): Promise<string>;
  close(): Promise<void>;
};

type Account = { email: string; password: string };

/** Begins to read the feed through `url`, and to receive what a new webhook is told. `newer`: an instance of this version. */
export async function startWitnesses(
  { url, newer }: { url: string; newer: string },
  account: Account,
  load: Load,
): Promise<Witnesses> {
  const admin = await adminOf(newer, account);
  const receiver = await startReceiver();
  await admin.create('/webhooks', { name: 'rolling upgrade', url: receiver.url, events: ['role_created'] });
  const permissions = await admin.permissionIds(['access.watch']);
  const role = await admin.create('/roles', { name: 'rolling upgrade: feed', permission_ids: permissions });
  const reader = await admin.create('/service-accounts', { name: 'rolling upgrade', role_ids: [role] });
  const feed = startReader(url, await admin.keyOf(reader), load);
  const begun = { roles: load.roles.length + UNDER_WAY };
  return {
    async judge() {
      const roles = load.roles.slice(begun.roles);
      await until('the webhook', () => roles.every((id) => receiver.told.has(id)));
      const sessions = load.ended.map(sessionOf);
      await until('the feed', () => sessions.slice(feed.from()).every((id) => feed.seen.has(id)));
      const { length } = sessions.slice(feed.from());
      if (roles.length === 0 || length === 0) throw new Error('the witnesses saw nothing');
      return `a webhook was told of ${roles.length} roles, the feed of ${length} ends of sessions, after ${feed.gaps()} gaps`;
    },
    async close() {
      await feed.close();
      await receiver.close();
    },
  };
}

async function until(what: string, isDone: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!isDone()) {
    if (performance.now() > end) throw new Error(`${what} was not told of everything`);
    await pause(POLL_MS);
  }
}

async function adminOf(url: string, account: Account) {
  const api = `${url}/api/v1`;
  const csrf = await fetchCsrf(url);
  const token = dataOf(await ask(`${api}/auth/login`, 'POST', csrf, account), 'access_token');
  const headers = { ...csrf, authorization: `Bearer ${token}` };
  const post = (path: string, body: object) => ask(`${api}${path}`, 'POST', headers, body);
  return {
    create: async (path: string, body: object) => dataOf(await post(path, body), 'id'),
    keyOf: async (id: string) => dataOf(await post(`/service-accounts/${id}/keys`, { name: 'feed' }), 'key'),
    async permissionIds(names: readonly string[]): Promise<string[]> {
      const { body } = await ask(`${api}/permissions`, 'GET', headers);
      const { data } = body as { data: { id: string; name: string }[] };
      return data.filter(({ name }) => names.includes(name)).map(({ id }) => id);
    },
  };
}

/** Receives events, and keeps of which records they are. */
async function startReceiver() {
  const told = new Set<string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const event: { data: { resource: { id: string } } } = JSON.parse(Buffer.concat(chunks).toString());
      told.add(event.data.resource.id);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver listens on no port');
  return {
    url: `http://127.0.0.1:${address.port}/events`,
    told,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

type Page = { resumed: boolean; changes: { type: string; id: string }[]; cursor: string };

/** Reads the feed, with the same cursor also after instances that have none answered. */
function startReader(url: string, key: string, load: Load) {
  const seen = new Set<string>();
  let cursor: string | undefined;
  let [from, gaps, isClosed] = [0, 0, false];
  const reads = (async () => {
    for (; !isClosed; await pause(POLL_MS)) {
      const after = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`;
      const { status, body } = await ask(`${url}/api/v1/access/feed${after}`, 'GET', {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        // The next request may then reach an instance of another version.
        connection: 'close',
      });
      // The earlier version has no such route.
      if (status !== 200) continue;
      const page = body as Page;
      if (cursor === undefined || !page.resumed) {
        // A reader forgets everything, so it need not hear of what was before.
        gaps += 1;
        from = load.ended.length + UNDER_WAY;
      }
      for (const { type, id } of page.changes) if (type === 'session') seen.add(id);
      cursor = page.cursor;
    }
  })();
  return {
    seen,
    from: () => from,
    /** How often it had to forget, besides at its beginning. */
    gaps: () => gaps - 1,
    async close() {
      isClosed = true;
      await reads;
    },
  };
}

function sessionOf(token: string): string {
  const claims: { sid: string } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return claims.sid;
}

const run = promisify(execFile);

/**
 * Waits until instances of this version have sealed every entry, whichever version wrote it, and verifies the log with the heads that they
 * kept. `tree`: where this version is. Rejects unless the log is whole and has an entry of each role.
 */
export async function judgeAuditLog(
  tree: string,
  environment: { DATABASE_URL: string; DATA_DIR: string; SECRET_KEY: string },
  roles: readonly string[],
): Promise<string> {
  const heads = join(environment.DATA_DIR, 'audit-heads.txt');
  const verify = ['packages/cli/castellan.mjs', 'audit', 'verify', '--database', '--heads', heads, '--json'];
  const env = { PATH: process.env.PATH, ...environment };
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    // Until the first seals are made, there is neither a file of heads nor a log.
    const { stdout, stderr } = await run(process.execPath, verify, { cwd: tree, env }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    const found: Verification | null = stdout === '' ? null : JSON.parse(stdout);
    if (found?.verdict === 'whole' && found.counts.unsealed === 0) {
      await requireEntries(environment.DATABASE_URL, roles);
      const { entries, seals } = found.counts;
      return `the audit log is whole: ${entries} entries in ${seals} seals, of ${roles.length} roles among others`;
    }
    if (found?.verdict === 'altered' || performance.now() > end)
      throw new Error(`the audit log is not whole: ${stdout}${stderr}`);
    await pause(1_000);
  }
}

type Verification = { verdict: string; counts: Record<'entries' | 'seals' | 'unsealed', number> };

async function requireEntries(databaseUrl: string, roles: readonly string[]): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ role: string }>(
      `select role from unnest($1::text[]) as role where (
         select count(*) from audit_logs where action = 'role_created' and resource_id = role) <> 1`,
      [roles],
    );
    if (rows.length > 0) throw new Error(`${rows.length} roles have no audit entry, or several`);
  } finally {
    await client.end();
  }
}
