// Keeps answers for as long as the feed tells every change of them.
// It must count no answer that the feed has not vouched for within `maxSilenceMs`.
import { ageAt, ageOf, type Moment, momentNow } from '../cache.ts';
import { GuardError } from '../errors.ts';
import { isText, isTexts, type Json } from '../json.ts';
import type { Check, Inspection } from '../subject.ts';
import { type Effect, effectOf, everything } from './changes.ts';
import { ageOfStream, type FeedOptions, followFeed, type Stream } from './feed.ts';
import { Kept, type Shared } from './kept.ts';

/** How a guard follows the feed. */
export type LiveOptions = {
  /** How old the state may be that kept answers stand on, in ms: at least 1,500. Default: 3,000. */
  maxSilenceMs?: number | undefined;
  /** What a guard does without the feed: it asks at every check, or refuses with `unavailable`. Default: `ask`. */
  onSilence?: 'ask' | 'refuse' | undefined;
};

export type LiveState = {
  /** Whether kept answers count now. */
  readonly live: boolean;
  /** How old the state is that they stand on, in ms; Infinity before the first stream. */
  readonly ageMs: number;
  /** How many answers are kept. */
  readonly kept: number;
};

/** The moment at which something is asked. Its answer is kept unless a change has concerned it since. */
type Mark = {
  keepInspection(token: string, found: Inspection, answer: Json, askedAt: Moment): void;
  keepDecision(check: Check, decision: boolean, context: Json, askedAt: Moment): void;
};

export type Live = {
  inspectionOf(token: string): Inspection | undefined;
  decisionOf(check: Check): boolean | undefined;
  /** Returns a mark to ask under; undefined while answers are not to be kept. */
  mark(): Mark | undefined;
  /** Returns why nothing may be asked: there is no feed, and silence refuses. */
  refusal(): GuardError | undefined;
  ready(): Promise<void>;
  state(): LiveState;
  close(): void;
};

type FeedAccess = Pick<FeedOptions, 'baseUrl' | 'apiKey' | 'fetch'>;
/** `LiveOptions`, with their defaults. */
export type LiveSettings = { maxSilenceMs: number; onSilence: 'ask' | 'refuse' };
type Settings = LiveSettings & {
  cacheSize: number;
  onUnavailable: ((error: GuardError) => void) | undefined;
};
/** A message of the feed, and what came after it. What nobody asks under any more is forgotten. */
type Node = { effect: Effect; next?: Node };

const TELL_EVERY_MS = 60_000;
/** How far two steady clocks may drift apart during one stream. */
const MOST_DRIFT_MS = 1_000;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * The end of a token is its signature or checksum, which differs where the beginnings are alike. Engines copy a slice this short, and let a
 * longer one refer to its source, which then costs a look-up half as much again.
 */
const endOf = (token: string): string => token.slice(-12);
const questionOf = ({ subject: { type, id }, permission }: Check): string => `${type} ${id} ${permission}`;
const nothingShared: Shared = { key: '', ids: [] };

/** What callers with the same roles have in common, and share in memory. */
type Rights = Shared & Pick<Inspection, 'permissions' | 'stepUps'>;

/** Begins to follow the feed. `close` ends it. */
export function createLive(access: FeedAccess, settings: Settings): Live {
  const { maxSilenceMs, onSilence, cacheSize, onUnavailable } = settings;
  const identities = new Kept<Inspection, Rights>(cacheSize, endOf);
  const decisions = new Kept<boolean>(cacheSize, (question) => question);
  const stopping = new AbortController();
  let waiting: { resolve: () => void; reject: (error: GuardError) => void }[] = [];
  /** The stream whose age counts: the latest one that has told the state. */
  let current: Stream | undefined;
  let latest: Node = { effect: effectOf([]) };
  let toldAt: Moment | undefined;
  /** Why Castellan has no feed for this key, as it said last. */
  let refused: GuardError | undefined;

  const ageMs = (now: Moment): number =>
    current ? ageAt(current.askedAt, now) - current.at : Number.POSITIVE_INFINITY;
  const counts = (now: Moment): boolean => current?.isLive === true && ageMs(now) <= maxSilenceMs;

  function apply(effect: Effect): void {
    const node = { effect };
    latest.next = node;
    latest = node;
    if (effect.isAll || effect.isEveryIdentity) identities.clear();
    if (effect.isAll || effect.isGraph) decisions.clear();
    identities.drop(effect.ids);
    decisions.drop(effect.ids);
    if (effect.sharedIds.size > 0) identities.dropGroups(effect.sharedIds);
  }

  function take(stream: Stream, name: string, data: Json = {}): number | undefined {
    const { at, live, resumed, retry_ms, changes } = data;
    if (name === 'bye') return Math.min(Math.max(Number(retry_ms) || 0, 0), 10_000);
    const told = Number(at ?? Number.NaN);
    // More than the request is old: somebody plays an earlier stream again.
    const isTimed = told - ageOf(stream.askedAt) <= MOST_DRIFT_MS;
    if (name === 'hello') stream.hasBegun = true;
    const isKnown = name === 'changes' || name === 'beat' || (name === 'hello' && resumed === true);
    // `reset` is not, nor is what a later version may send.
    if (!isTimed || !isKnown || !stream.hasBegun) apply(everything());
    else if (name === 'changes') apply(effectOf(changes));
    if (isTimed) stream.at = told;
    if (name === 'hello' || name === 'beat') stream.isLive = live === true;
    return undefined;
  }

  function onMessage(stream: Stream, name: string, data: Json | undefined): number | undefined {
    refused = undefined;
    const pause = take(stream, name, data);
    // A new stream vouches for nothing until it has told what was missed. Until then, the earlier one may say more.
    const isAnew = name === 'hello' && data?.resumed !== true;
    if (isAnew || !stream.isLive || ageOfStream(stream) <= ageMs(momentNow())) current = stream;
    if (counts(momentNow())) settle(({ resolve }) => resolve());
    return pause;
  }

  function settle(how: (one: (typeof waiting)[number]) => void): void {
    const all = waiting;
    waiting = [];
    for (const one of all) how(one);
  }

  function onFailure(error: GuardError, isRefused: boolean): void {
    refused = isRefused ? error : undefined;
    if (isRefused) settle(({ reject }) => reject(error));
    const now = momentNow();
    if (toldAt && ageAt(toldAt, now) < TELL_EVERY_MS) return;
    toldAt = now;
    try {
      onUnavailable?.(error);
    } catch {
      // A broken log must not end the stream.
    }
  }

  void followFeed({ ...access, maxSilenceMs, onMessage, onFailure }, stopping.signal);

  const isConcerned = (since: Node, isTouched: (effect: Effect) => boolean): boolean => {
    for (let node = since.next; node; node = node.next)
      if (node.effect.isAll || isTouched(node.effect)) return true;
    return false;
  };

  return {
    inspectionOf(token) {
      const now = momentNow();
      return counts(now) ? identities.get(token, now) : undefined;
    },
    decisionOf(check) {
      const now = momentNow();
      return counts(now) ? decisions.get(questionOf(check), now) : undefined;
    },
    mark() {
      if (stopping.signal.aborted || !counts(momentNow())) return undefined;
      const since = latest;
      return {
        keepInspection(token, { identity, permissions, stepUps }, answer, askedAt) {
          const { fresh_for, role_ids, kid } = answer;
          if (!Number.isFinite(fresh_for) || !isTexts(role_ids)) return;
          const { sessionId, tokenId, id } = identity;
          const ids = [id, tokenId, ...(sessionId === undefined ? [] : [sessionId])];
          const sharedIds = isText(kid) ? [...role_ids, kid] : role_ids;
          const isTouched = (effect: Effect): boolean =>
            effect.isEveryIdentity ||
            ids.some((one) => effect.ids.has(one)) ||
            sharedIds.some((one) => effect.sharedIds.has(one));
          if (isConcerned(since, isTouched)) return;
          const key = JSON.stringify([sharedIds, [...permissions], [...stepUps]]);
          const shared = identities.sharedAt(key) ?? { key, ids: sharedIds, permissions, stepUps };
          identities.set({
            text: token,
            value: { identity, permissions: shared.permissions, stepUps: shared.stepUps },
            ids,
            shared,
            askedAt,
            freshMs: Number(fresh_for) * 1_000,
            endsAt: identity.expiresAt,
          });
        },
        keepDecision(check, decision, { fresh_for, reason }, askedAt) {
          const { id } = check.subject;
          if (!Number.isFinite(fresh_for) || reason === 'unknown_subject' || !UUID.test(id)) return;
          if (isConcerned(since, (effect) => effect.isGraph || effect.ids.has(id))) return;
          decisions.set({
            text: questionOf(check),
            value: decision,
            ids: [id],
            shared: nothingShared,
            askedAt,
            freshMs: Number(fresh_for) * 1_000,
          });
        },
      };
    },
    refusal: () =>
      onSilence === 'refuse' && !counts(momentNow())
        ? new GuardError('unavailable', 'The feed of changes is silent, and onSilence is "refuse".')
        : undefined,
    ready: () =>
      new Promise((resolve, reject) => {
        if (counts(momentNow())) resolve();
        else if (stopping.signal.aborted) reject(closed());
        else if (refused) reject(refused);
        else waiting.push({ resolve, reject });
      }),
    state() {
      const now = momentNow();
      return { live: counts(now), ageMs: ageMs(now), kept: identities.size + decisions.size };
    },
    close() {
      stopping.abort();
      current = undefined;
      apply(everything());
      settle(({ reject }) => reject(closed()));
    },
  };
}

const closed = (): GuardError => new GuardError('unavailable', 'This guard was closed.');
