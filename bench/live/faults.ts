// Measures for how long a live guard uses an answer that is no longer true, from the commit of the change to the last use: in a healthy installation
// with 1, 10 and 1,000 streams, quiet and under load, and under faults. Nothing may exceed maxSilenceMs (3 s).
// `node bench/live/faults.ts`, about two minutes; BENCH_ENDS sets the ends of sessions of each row (30). Runs on the PostgreSQL of DATABASE_URL, or an embedded one. Loopback only.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createAccounts, createServiceKey, openSessions } from '../load/accounts.ts';
import { format, markdown, median, percentile } from '../report/table.ts';
import { createPlace, databaseKind, query } from '../service/place.ts';
import { type Service, startService } from '../service/service.ts';

const MAX_SILENCE_MS = 3_000;
const ENDS = Number(process.env.BENCH_ENDS || 30);
/** Rows of a healthy installation; the others need one account each. */
const HEALTHY = [1, 10, 1_000].flatMap((streams) => [false, true].map((isLoaded) => ({ streams, isLoaded })));
const ACCOUNTS = HEALTHY.length * ENDS + 20;

type Watcher = {
  child: ChildProcess;
  told(name: 'kept' | 'lastUsedAt'): Promise<number>;
  send(message: object): void;
};

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

async function startWatcher(url: string, key: string, more: Record<string, string> = {}): Promise<Watcher> {
  const child = fork(fileURLToPath(new URL('watcher.ts', import.meta.url)), {
    env: { PATH: process.env.PATH, CASTELLAN_URL: url, CASTELLAN_API_KEY: key, ...more },
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  await once(child, 'message');
  return {
    child,
    send: (message) => void child.send(message),
    told: (name) =>
      new Promise((resolve) => {
        const listen = (message: Record<string, number>): void => {
          const found = message[name];
          if (found === undefined) return;
          child.off('message', listen);
          resolve(found);
        };
        child.on('message', listen);
      }),
  };
}

/** A proxy on its own port whose way back can be held and cut. */
async function startProxy(target: string) {
  const { port, hostname } = new URL(target);
  const sockets = new Set<Socket>();
  let isHeld = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.pipe(upstream);
    const held: Buffer[] = [];
    upstream.on('data', (chunk) => {
      if (isHeld) held.push(chunk);
      else client.write(Buffer.concat([...held.splice(0), chunk]));
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    hold: (value: boolean) => {
      isHeld = value;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    /** Refuses new connections, and ends those that there are. */
    stop() {
      server.close();
      this.cut();
    },
  };
}

/** Opens streams that are read and not looked at. */
async function openStreams(url: string, key: string, count: number): Promise<() => void> {
  const stopping = new AbortController();
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  for (let opened = 0; opened < count; opened += 1) {
    const { body, status } = await fetch(`${url}/api/v1/access/feed`, { headers, signal: stopping.signal });
    if (status !== 200) throw new Error(`the feed answered ${status} to stream ${opened}`);
    body?.pipeTo(new WritableStream()).catch(() => undefined);
  }
  return () => stopping.abort();
}

const place = await createPlace();
const service: Service = await startService({
  ...place.environment,
  RATE_LIMIT_USER: 'off',
  CONCURRENT_SESSION_LIMIT: '0',
});
await createAccounts(place, ACCOUNTS);
const connection = await place.connection();
await query(
  connection,
  `with grp as (insert into permission_groups (id, name) values (gen_random_uuid(), 'orders') returning id),
   permission as (
     insert into permissions (id, name, group_id) select gen_random_uuid(), 'orders.read', id from grp returning id
   )
   insert into role_permissions (role_id, permission_id)
   select r.id, p.id from roles r, permission p where r.name = 'User'`,
);
const key = await createServiceKey(place);
const sessions = await openSessions(service.url, '/', ACCOUNTS);
const tokens = sessions.map(({ headers }) => String(headers?.authorization).slice('Bearer '.length));
/** PostgreSQL refuses to close a database to the one who is connected to it. */
const maintenance =
  connection.connectionString === undefined
    ? { ...connection, database: 'postgres' }
    : { connectionString: new URL('/postgres', connection.connectionString).href };
const database = new pg.Client(connection);
await database.connect();

/** Ends the session of a token. Returns when that was committed, at the latest. */
async function end(token: string): Promise<number> {
  const { sid } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  await database.query('update sessions set revoked_at = now() where id = $1', [sid]);
  return Date.now();
}

/** Ends the connections of the service and refuses new ones, or takes them again. The one of this benchmark stays. */
async function allowConnections(isAllowed: boolean): Promise<void> {
  const { rows } = await database.query<{ name: string }>('select current_database() as name');
  await query(maintenance, `alter database ${rows[0]?.name} allow_connections ${isAllowed}`);
  if (!isAllowed)
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
}

function next(): string {
  const token = tokens.pop();
  if (token === undefined) throw new Error('there are too few accounts');
  return token;
}

async function load(signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${tokens[0]}` };
  const send = async (): Promise<void> => {
    while (!signal.aborted)
      await fetch(`${service.url}/api/v1/users/me`, { headers }).then((response) => response.arrayBuffer());
  };
  await Promise.all(Array.from({ length: 16 }, send));
}

const rows: string[][] = [];
function note(name: string, measured: number[]): void {
  // Before the commit was answered: not at all.
  const times = measured.map((time) => Math.max(0, time));
  rows.push([name, format(median(times)), format(percentile(times, 0.99)), format(Math.max(...times))]);
}

async function healthy(streams: number, isLoaded: boolean): Promise<void> {
  const close = await openStreams(service.url, key, streams - 1);
  const watcher = await startWatcher(service.url, key);
  const mine = Array.from({ length: ENDS }, next);
  const kept = watcher.told('kept');
  watcher.send({ keep: mine });
  if ((await kept) !== ENDS) throw new Error('not every token is kept');
  const stopping = new AbortController();
  const loading = isLoaded ? load(stopping.signal) : undefined;
  const times: number[] = [];
  for (const token of mine) {
    const last = watcher.told('lastUsedAt');
    watcher.send({ watch: token });
    await pause(50 + Math.random() * 50);
    const committed = await end(token);
    times.push((await last) - committed);
  }
  stopping.abort();
  await loading;
  watcher.child.kill();
  close();
  note(`${format(streams)} ${streams === 1 ? 'stream' : 'streams'}${isLoaded ? ', under load' : ''}`, times);
}

/** Runs a fault, ends a session in it, and measures until the guard stops using what it keeps. */
async function fault(
  name: string,
  about: {
    more?: Record<string, string>;
    begin(about: { proxy: Awaited<ReturnType<typeof startProxy>>; watcher: Watcher }): unknown;
    finish?(about: { watcher: Watcher }): unknown;
  },
): Promise<void> {
  const proxy = await startProxy(service.url);
  const watcher = await startWatcher(proxy.url, key, about.more);
  const token = next();
  const kept = watcher.told('kept');
  watcher.send({ keep: [token] });
  if ((await kept) !== 1) throw new Error('the token is not kept');
  const last = watcher.told('lastUsedAt');
  watcher.send({ watch: token });
  await pause(1_500);
  await about.begin({ proxy, watcher });
  const committed = await end(token);
  await about.finish?.({ watcher });
  note(name, [(await last) - committed]);
  watcher.child.kill('SIGKILL');
  proxy.stop();
}

for (const { streams, isLoaded } of HEALTHY) await healthy(streams, isLoaded);
await fault('no fault, through a proxy', { begin: () => undefined });
await fault('connection cut, and none after it', { begin: ({ proxy }) => proxy.stop() });
await fault('connection cut, and another at once', { begin: ({ proxy }) => proxy.cut() });
await fault('proxy that holds everything back', { begin: ({ proxy }) => proxy.hold(true) });
await fault('instance stopped (SIGSTOP)', {
  begin: () => process.kill(service.pid, 'SIGSTOP'),
  finish: async () => {
    await pause(4_000);
    process.kill(service.pid, 'SIGCONT');
  },
});
await fault('clock of the guard an hour back', {
  more: { DATE_SHIFT_MS: '-3600000' },
  begin: ({ proxy }) => proxy.hold(true),
});
await fault('clock of the guard an hour ahead', {
  more: { DATE_SHIFT_MS: '3600000' },
  begin: () => undefined,
});
await fault('guard stopped for 6 s (SIGSTOP), then looks at once', {
  begin: ({ watcher }) => watcher.child.kill('SIGSTOP'),
  finish: async ({ watcher }) => {
    await pause(6_000);
    watcher.child.kill('SIGCONT');
  },
});
await fault('database away for the service', {
  begin: () => allowConnections(false),
  finish: async () => {
    await pause(4_000);
    await allowConnections(true);
  },
});
await database.end();
await service.stop();
await place.remove();
process.stdout.write(
  `Node ${process.versions.node}, ${databaseKind}. ms from the commit to the last use of a kept answer; at most ${MAX_SILENCE_MS}. ${ENDS} ends of ` +
    `sessions in each row of a healthy installation.\n\n${markdown(['', 'p50', 'p99', 'longest'], rows)}\n`,
);
process.exit(0);
