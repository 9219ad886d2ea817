// Kept answers against the truth, under random changes, delays, cuts, silences and new histories: a kept answer was true at some moment
// of the latest maxSilenceMs.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import {
  bearing,
  type Clock,
  createFakeCastellan,
  type FakeStream,
  said,
  settle,
  stopClock,
} from './fake-feed.ts';

const MAX_SILENCE_MS = 2_000;
const TOKENS = 3;

type Op =
  | { do: 'pass'; ms: number }
  | { do: 'sleep'; ms: number }
  | { do: 'change'; token: number; what: 'end' | 'grant' | 'revoke' }
  | { do: 'compose' | 'deliver' | 'cut' | 'restore' | 'hold' | 'release' }
  | { do: 'ask'; token: number }
  /** Some seconds in which nothing goes wrong. */
  | { do: 'thrive'; seconds: number }
  /** A change that is committed and told while an earlier answer is on its way. */
  | { do: 'overtake'; token: number };

const tokenOf = fc.nat({ max: TOKENS - 1 });
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.integer({ min: 1, max: 700 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sleep'), ms: fc.integer({ min: 1, max: 5_000 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('change'),
      token: tokenOf,
      what: fc.constantFrom('end', 'grant', 'revoke'),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('compose', 'deliver') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cut', 'restore') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('hold', 'release') }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('ask'), token: tokenOf }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('thrive'), seconds: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('overtake'), token: tokenOf }) },
);

/** Lets a signature be verified, which takes a thread. */
const nextTurns = (): Promise<void> => settle().then(settle).then(settle);

type Data = Record<string, unknown>;
type Message = [event: string, data: Data, id: string];

/** The service: its sessions, the log of their changes, and one stream at a time. */
async function createWorld(t: TestContext, clock: Clock) {
  const castellan = createFakeCastellan(t, clock);
  const guard = castellan.guard({ live: { maxSilenceMs: MAX_SILENCE_MS } });
  const tokens: string[] = [];
  const sessions: string[] = [];
  /** What a check would have said, since when. */
  const history: { at: number; word: string }[][] = [];
  const log: object[] = [];
  let stamp = 1;
  let stream: FakeStream | undefined;
  let arrivedAt = 0;
  let told = 0;
  let onWay: Message[] = [];
  let release = (): void => undefined;
  const asking: Promise<unknown>[] = [];

  async function add(index: number): Promise<void> {
    const token = await castellan.token(['orders.read']);
    tokens[index] = token;
    sessions[index] = String(castellan.answers.get(token)?.sid);
    history[index] = [{ at: clock.now(), word: 'known' }];
  }
  for (let index = 0; index < TOKENS; index += 1) await add(index);

  function compose(event: string, data: Data = {}): void {
    const at = Math.floor(clock.now() - arrivedAt);
    onWay.push([event, { at, ...data }, `${told}.${stamp}`]);
  }

  /** Takes a new connection, as the service does: with what its reader has missed. */
  function accept(): void {
    const latest = castellan.streams.at(-1);
    if (!latest || latest === stream || !latest.isOpen) return;
    stream = latest;
    arrivedAt = clock.now();
    onWay = [];
    const [seq, history] = latest.cursor?.split('.') ?? [];
    const resumed = Number(history) === stamp;
    told = resumed ? Number(seq) : log.length;
    compose('hello', {
      live: true,
      resumed,
      ...(told < log.length ? { at: -86_400_000 } : {}),
    });
    tell();
  }

  function tell(): void {
    const changes = log.slice(told);
    told = log.length;
    compose(changes.length > 0 ? 'changes' : 'beat', changes.length > 0 ? { changes } : { live: true });
  }

  function change(index: number, what: 'end' | 'grant' | 'revoke'): void {
    const answer = castellan.answers.get(tokens[index] ?? '');
    if (!answer) return;
    if (what === 'end') castellan.answers.delete(tokens[index] ?? '');
    else
      castellan.answers.set(tokens[index] ?? '', {
        ...answer,
        permissions: what === 'grant' ? ['orders.read'] : [],
      });
    const word = { end: 'invalid_token', grant: 'known', revoke: 'permission_denied' }[what];
    history[index]?.push({ at: clock.now(), word });
    log.push(what === 'end' ? { type: 'session', id: sessions[index] } : { type: 'user', id: answer.sub });
  }

  async function deliverAll(): Promise<void> {
    if (stream?.isOpen) tell();
    for (let message = onWay.shift(); message && stream?.isOpen; message = onWay.shift())
      await stream.send(...message);
  }

  async function thrive(seconds: number): Promise<void> {
    for (let halves = 0; halves < seconds * 2; halves += 1) {
      await clock.pass(500);
      accept();
      await deliverAll();
    }
  }

  async function overtake(token: number): Promise<void> {
    await thrive(1);
    change(token, 'grant');
    await deliverAll();
    release();
    release = castellan.hold();
    const arrival = castellan.arrival();
    await run({ do: 'ask', token });
    await Promise.race([arrival, nextTurns()]);
    change(token, 'revoke');
    await deliverAll();
    release();
  }

  async function run(one: Op): Promise<void> {
    if (one.do === 'thrive') await thrive(one.seconds);
    else if (one.do === 'overtake') await overtake(one.token);
    else if (one.do === 'pass') await clock.pass(one.ms);
    else if (one.do === 'sleep') await clock.sleep(one.ms);
    else if (one.do === 'change') change(one.token, one.what);
    else if (one.do === 'compose' && stream?.isOpen) tell();
    else if (one.do === 'cut') await stream?.cut();
    else if (one.do === 'restore') {
      // Another history, of which the reader has not seen the end.
      stamp += 1;
      await stream?.cut();
    } else if (one.do === 'deliver' && stream?.isOpen) {
      const message = onWay.shift();
      if (message) await stream.send(...message);
    } else if (one.do === 'hold') {
      release();
      release = castellan.hold();
    } else if (one.do === 'release') release();
    else if (one.do === 'ask')
      asking.push(guard.authenticate(bearing(tokens[one.token] ?? '')).catch(() => undefined));
    await settle();
    accept();
  }

  /** Asserts that what is kept was true at some moment of the latest `MAX_SILENCE_MS`; returns how many answers counted. */
  function checkAll(): number {
    let counted = 0;
    for (const [index, token] of tokens.entries()) {
      const word = said(guard, token);
      if (word === 'ask') continue;
      counted += 1;
      const since = clock.now() - MAX_SILENCE_MS;
      const all = history[index] ?? [];
      const wasTrue = all.some(
        (state, place) => state.word === word && (all[place + 1]?.at ?? Number.POSITIVE_INFINITY) >= since,
      );
      assert.ok(wasTrue, `${word} has not been true for ${MAX_SILENCE_MS} ms: ${JSON.stringify(all)}`);
    }
    return counted;
  }

  return {
    run,
    checkAll,
    async end() {
      release();
      await Promise.all(asking);
      guard.close();
      await settle();
    },
  };
}

test('a kept answer is never older than maxSilenceMs', async (t) => {
  const clock = stopClock(t);
  let counted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 20, maxLength: 80 }), async (ops) => {
      const world = await createWorld(t, clock);
      await settle();
      try {
        await world.run({ do: 'pass', ms: 1 });
        await world.run({ do: 'deliver' });
        for (let token = 0; token < TOKENS; token += 1) await world.run({ do: 'ask', token });
        for (const one of ops) {
          await world.run(one);
          counted += world.checkAll();
        }
      } finally {
        await world.end();
      }
    }),
    { numRuns: 150, interruptAfterTimeLimit: 60_000 },
  );
  // The property would also hold for a guard that keeps nothing.
  assert.ok(counted > 1_000, `${counted} kept answers were looked at`);
});
