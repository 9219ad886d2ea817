// A Castellan in memory whose feed says exactly what a test tells it to, on a clock that stands still until the test moves it.
import { randomUUID } from 'node:crypto';
import { mock, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { makeKey } from '../../../src/guard/api-key.ts';
import { createGuard, type Guard, type GuardOptions } from '../../../src/index.ts';
import { createSigner } from '../../../src/testing/signing.ts';

type Json = Record<string, unknown>;

/** A clock that runs as two: the steady one and the date. */
export type Clock = {
  /** Moves both clocks, and runs what is due. */
  pass(ms: number): Promise<void>;
  /** As a machine that sleeps: the steady clock stands still. */
  sleep(ms: number): Promise<void>;
  /** Sets the date alone. */
  setDate(ms: number): void;
  now(): number;
};

type Options = Partial<Omit<GuardOptions, 'live'>> & { live?: GuardOptions['live'] | undefined };

const START = 1_800_000_000_000;

/** Lets everything run that is ready. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 30; count += 1) await turn();
}

export function stopClock(t: TestContext): Clock {
  let steady = 1_000;
  let offset = 0;
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'], now: 0 });
  t.mock.method(performance, 'now', () => steady);
  t.mock.method(Date, 'now', () => START + steady + offset);
  t.after(() => mock.timers.reset());
  const STEP_MS = 50;
  return {
    async pass(ms) {
      for (let left = ms; left > 0; left -= STEP_MS) {
        const step = Math.min(left, STEP_MS);
        steady += step;
        mock.timers.tick(step);
        await settle();
      }
    },
    async sleep(ms) {
      offset += ms;
      await settle();
    },
    setDate: (ms) => {
      offset = ms - START - steady;
    },
    now: () => START + steady + offset,
  };
}

/** One request for the feed. `at` of its messages counts from when it arrived. */
export type FakeStream = {
  cursor: string | null;
  send(event: string, data: Json | string, id?: string): Promise<void>;
  /** As `send`, with `at` as it is now. */
  tell(event: string, data?: Json, id?: string): Promise<void>;
  end(): Promise<void>;
  cut(): Promise<void>;
  isOpen: boolean;
};

export type FakeCastellan = {
  /** With `live: undefined`, a guard that is not live. */
  guard(options?: Options): Guard;
  streams: FakeStream[];
  /** The latest stream. Throws if there is none. */
  stream(): FakeStream;
  /** Answers requests for the feed instead; undefined for streams. */
  refuse(answer: (() => Response | Promise<Response>) | undefined): void;
  /** Adds a user and returns a token of a session of theirs. */
  token(permissions: readonly string[], more?: Json): Promise<string>;
  /** Adds a service account and returns its key. */
  key(permissions: readonly string[], more?: Json): string;
  /** What introspection says about a token. It may be changed. */
  answers: Map<string, Json>;
  decisions: Map<string, Json>;
  /** Holds answers of introspection and decisions back until the returned function is called. */
  hold(): () => void;
  /** Resolves when the next question about a token or a decision has arrived, and its answer is as things are then. */
  arrival(): Promise<void>;
  asked: { include: string | null; token: string | null; prefer: string | null }[];
};

const encoder = new TextEncoder();

export function createFakeCastellan(t: TestContext, clock: Clock): FakeCastellan {
  const signer = createSigner('EdDSA');
  const streams: FakeStream[] = [];
  const answers = new Map<string, Json>();
  const decisions = new Map<string, Json>();
  const asked: FakeCastellan['asked'] = [];
  let refusal: (() => Response | Promise<Response>) | undefined;
  let held: Promise<void> | undefined;
  let arrived = (): void => undefined;

  function openStream(request: Request): Response {
    const arrivedAt = performance.now();
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (one) => {
        controller = one;
      },
      cancel: () => {
        stream.isOpen = false;
      },
    });
    const end = (how: (one: ReadableStreamDefaultController<Uint8Array>) => void) => async () => {
      if (controller && stream.isOpen) how(controller);
      stream.isOpen = false;
      await settle();
    };
    const stream: FakeStream = {
      cursor: request.headers.get('last-event-id'),
      isOpen: true,
      async send(event, data, id) {
        const text = typeof data === 'string' ? data : JSON.stringify(data);
        const lines = [`event: ${event}`, ...(id === undefined ? [] : [`id: ${id}`]), `data: ${text}`];
        if (stream.isOpen) controller?.enqueue(encoder.encode(`${lines.join('\n')}\n\n`));
        await settle();
      },
      tell: (event, data = {}, id) =>
        stream.send(event, { at: Math.floor(performance.now() - arrivedAt), ...data }, id),
      end: end((one) => one.close()),
      cut: end((one) => one.error(new TypeError('terminated'))),
    };
    streams.push(stream);
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/.well-known/jwks.json') return Response.json(await signer.keySet());
    if (pathname === '/api/v1/access/feed') return refusal ? refusal() : openStream(request);
    const body = await request.text();
    const prefer = request.headers.get('prefer');
    if (pathname === '/api/v1/oauth/introspect') {
      const form = new URLSearchParams(body);
      const token = form.get('token');
      const include = form.get('include');
      asked.push({ include, token, prefer });
      const { fresh_for, role_ids, kid, ...known } = answers.get(token ?? '') ?? { active: false };
      arrived();
      await held;
      return Response.json(include?.includes('live') ? { ...known, fresh_for, role_ids, kid } : known);
    }
    asked.push({ include: null, token: null, prefer });
    const { evaluations } = JSON.parse(body);
    const told = evaluations.map((one: { subject: { id: string } }) => decisions.get(one.subject.id));
    arrived();
    await held;
    return Response.json({ evaluations: told });
  }

  const times = () => {
    const now = Math.floor(clock.now() / 1_000);
    return { iat: now, exp: now + 1_800 };
  };

  return {
    streams,
    answers,
    decisions,
    asked,
    guard({ live, ...options }: Options = { live: true }) {
      const guard = createGuard({
        baseUrl: 'http://castellan.test',
        apiKey: 'castellan_guard',
        fetch: (...args) => answer(new Request(...args)),
        ...options,
        ...(live && { live }),
      });
      t.after(() => guard.close());
      return guard;
    },
    stream() {
      const stream = streams.at(-1);
      if (!stream) throw new Error('nobody has asked for the feed');
      return stream;
    },
    refuse(how) {
      refusal = how;
    },
    async token(permissions, more = {}) {
      const claims = { sub: randomUUID(), jti: randomUUID(), sid: randomUUID(), ...times(), ...more };
      const { sub, jti, sid, iat, exp } = claims;
      const token = await signer.sign({ sub, jti, sid, iat, exp });
      answers.set(token, {
        active: true,
        username: 'ada@example.com',
        client_id: 'castellan',
        token_type: 'Bearer',
        permissions,
        fresh_for: 1_800,
        role_ids: [],
        kid: 'key-1',
        ...claims,
      });
      return token;
    },
    key(permissions, more = {}) {
      const key = makeKey();
      const sub = randomUUID();
      answers.set(key, {
        active: true,
        sub,
        client_id: sub,
        username: 'Import',
        token_type: 'Bearer',
        jti: randomUUID(),
        iat: times().iat,
        permissions,
        fresh_for: 86_400,
        role_ids: [],
        ...more,
      });
      return key;
    },
    arrival: () =>
      new Promise((resolve) => {
        arrived = resolve;
      }),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
  };
}

export const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** Returns what a check says, in a word: who it is, the code of a refusal, or that Castellan must be asked. */
export function said(guard: Guard, token: string, permission = 'orders.read'): string {
  const answer = guard.check(bearing(token), permission);
  if (answer === undefined) return 'ask';
  return answer instanceof Error ? answer.code : 'known';
}
