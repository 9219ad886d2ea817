// Measures a check of a kept token: `guard.check` with 10,000 tokens of 520 characters, each as a fresh string, as a server reads
// it from a socket; and the memory that they take. Nothing leaves the process. With --with-casbin, also what Casbin, installed from npm into
// a temporary folder, takes to decide the same about 10,000 people whose names are known.
// `node --expose-gc bench/live/kept.ts [--with-casbin]`, about a quarter of a minute.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { createGuard } from '../../packages/sdk/src/guard.ts';
import { startCasbin } from '../comparison/casbin.ts';
import { format, markdown, summary } from '../report/table.ts';

const TOKENS = 10_000;
const LENGTH = 520;
const ROUNDS = 7;
const CHECKS = 1_000_000;
const PERMISSION = 'orders.read';
const ROLES = 50;
/** Of Casbin without its cache, which asks all policies. */
const SLOW_CHECKS = 2_000;

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const keySet = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a' }] };
const seconds = Math.floor(Date.now() / 1_000);
const answers = new Map<string, object>();

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(claims: object): string {
  const input = `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid: 'a' })}.${encode(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`;
}

const permissionsOf = (role: number): string[] => [
  PERMISSION,
  ...Array.from({ length: 19 }, (_, at) => `group${role}.action${at}`),
];

/** Adds a token of a session. Of `roles` kinds of people, each has 20 permissions. */
function addToken(number: number, roles: number): string {
  const claims = {
    sub: randomUUID(),
    jti: randomUUID(),
    sid: randomUUID(),
    iat: seconds,
    exp: seconds + 1_800,
  };
  const bare = signed({ ...claims, pad: '' });
  // Three bytes are four characters.
  const pad = 'x'.repeat(Math.max(0, Math.floor(((LENGTH - bare.length) * 3) / 4)));
  const token = signed({ ...claims, pad });
  const role = number % roles;
  answers.set(token, {
    active: true,
    ...claims,
    username: `person${number}@example.com`,
    client_id: 'castellan',
    token_type: 'Bearer',
    permissions: permissionsOf(role),
    fresh_for: 1_800,
    role_ids: [`0192f0c1-7b5e-7c3a-9f64-${String(role).padStart(12, '0')}`],
    kid: 'a',
  });
  return token;
}

/** A stream that is live and stays so: it says at once what it would say in the course of the measurement. */
function feed(): Response {
  const encoder = new TextEncoder();
  const begun = performance.now();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const tell = (event: string, data: object): void =>
        controller.enqueue(
          encoder.encode(
            `event: ${event}\ndata: ${JSON.stringify({ at: Math.floor(performance.now() - begun), live: true, ...data })}\n\n`,
          ),
        );
      tell('hello', { resumed: false });
      setInterval(() => tell('beat', {}), 500).unref();
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname.endsWith('jwks.json')) return Response.json(keySet);
  if (pathname.endsWith('feed')) return feed();
  return Response.json(answers.get(new URLSearchParams(await request.text()).get('token') ?? ''));
}

const heapMiB = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const guard = createGuard({
  baseUrl: 'http://castellan.test',
  apiKey: 'castellan_bench',
  live: true,
  fetch: (...args) => answer(new Request(...args)),
});
await guard.ready();
const tokens: Buffer[] = [];
for (let number = 0; number < TOKENS; number += 1)
  tokens.push(Buffer.from(`Bearer ${addToken(number, ROLES)}`, 'latin1'));
for (const header of tokens) await guard.authenticate({ headers: { authorization: String(header) } });
answers.clear();

/** Returns the processor time of one step in microseconds, of many: other work on the machine does not count. */
async function timeOf(step: (header: Buffer) => unknown): Promise<number> {
  let passed = 0;
  let used = 0;
  // In portions, so that the stream of the guard is read.
  for (let done = 0; done < CHECKS; done += 50_000) {
    const begin = process.cpuUsage();
    for (let at = 0; at < 50_000; at += 1) {
      const header = tokens[(at * 7_919) % TOKENS];
      if (header && step(header)) used += 1;
    }
    passed += process.cpuUsage(begin).user;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (used !== CHECKS) throw new Error(`${CHECKS - used} checks were not answered by what is kept`);
  return passed / CHECKS;
}

/** Casbin is told who calls; somebody else has checked the token. */
async function measureCasbin(): Promise<{ rows: string[][]; memory: string }> {
  const empty = heapMiB();
  const people = Array.from({ length: TOKENS }, () => randomUUID());
  const casbin = await startCasbin(
    people.map((person, number) => [person, `role${number % ROLES}`]),
    Array.from({ length: ROLES }, (_, role) =>
      permissionsOf(role).map((name) => [`role${role}`, name]),
    ).flat(),
  );
  const at = (number: number): string => people[(number * 7_919) % TOKENS] ?? '';
  for (const person of people) await casbin.decideCached(person, PERMISSION);
  const filled = heapMiB();
  const found = { cached: [] as number[], asked: [] as number[] };
  for (let round = 0; round < ROUNDS + 1; round += 1) {
    const begin = process.cpuUsage();
    for (let number = 0; number < CHECKS; number += 1)
      if (!(await casbin.decideCached(at(number), PERMISSION))) throw new Error('Casbin refused');
    const between = process.cpuUsage();
    for (let number = 0; number < SLOW_CHECKS; number += 1)
      if (!casbin.decide(at(number), PERMISSION)) throw new Error('Casbin refused');
    if (round === 0) continue;
    found.cached.push((between.user - begin.user) / CHECKS);
    found.asked.push((process.cpuUsage().user - between.user) / SLOW_CHECKS);
  }
  const name = `Casbin ${casbin.version}`;
  return {
    rows: [
      [`${name}, \`CachedEnforcer.enforce\``, summary(found.cached)],
      [`${name}, \`enforceSync\``, summary(found.asked)],
    ],
    memory: ` ${name}: ${format(((filled - empty) * 1_024) / TOKENS)} KiB for each person.`,
  };
}

const checked = (header: Buffer): boolean => {
  const found = guard.check({ headers: { authorization: header.toString('latin1') } }, PERMISSION);
  return found !== undefined && !(found instanceof Error);
};
const made = (header: Buffer): boolean => header.toString('latin1').length > 0;
const times: Record<'made' | 'checked', number[]> = { made: [], checked: [] };
for (let round = 0; round < ROUNDS + 1; round += 1) {
  const row = { made: await timeOf(made), checked: await timeOf(checked) };
  // The first round warms up.
  if (round > 0) for (const key of ['made', 'checked'] as const) times[key].push(row[key]);
}
const full = heapMiB();
guard.close();
const keptMiB = full - heapMiB();
const casbin = process.argv.includes('--with-casbin') ? await measureCasbin() : undefined;
const length = tokens.reduce((sum, header) => sum + header.length - 7, 0) / TOKENS;
process.stdout.write(
  `Node ${process.versions.node}. ${format(TOKENS)} tokens of ${format(length)} characters, medians of ${ROUNDS} rounds of ` +
    `${format(CHECKS)} checks.\n\n${markdown(
      ['', 'µs'],
      [
        ['make the string of the header', summary(times.made)],
        ['make it and `guard.check`', summary(times.checked)],
        ...(casbin?.rows ?? []),
      ],
    )}\n\nMemory of the kept tokens: ${format((keptMiB * 1_024) / TOKENS)} KiB each.${casbin?.memory ?? ''}\n`,
);
process.exit(0);
