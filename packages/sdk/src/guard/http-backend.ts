import { type Claims, isTimely, readApplicationToken, verifyAccessToken } from './access-token.ts';
import { isApiKey, isPersonalToken, isWellFormedKey } from './api-key.ts';
import { createCache, momentNow } from './cache.ts';
import { GuardError, refusalOf } from './errors.ts';
import { INTROSPECT, inspectionOf, malformed } from './inspection.ts';
import { isRecord, isText, type Json } from './json.ts';
import { createKeySet } from './key-set.ts';
import type { Live } from './live/live.ts';
import { type Backend, type Check, folded, type Inspection, partsOf } from './subject.ts';
import { oncePerTick } from './tick.ts';
import { createTransport, RefusedQuestion, type TransportOptions } from './transport.ts';
import { createUnknownKeys } from './unknown-keys.ts';

export type HttpBackendOptions = TransportOptions & {
  maxStaleMs: number;
  cacheSize: number;
  /** Whether a caller may wait for the work of another: equal questions, requests with many questions, the key set. */
  sharesWork: boolean;
  /** The identifier of the API resource whose tokens count, too. */
  audience?: string | undefined;
  /** Keeps answers as long as the feed tells every change of them. */
  live?: Live | undefined;
};

/** What one request may ask, by the limits of Castellan (1,000 items, 1 MiB), far enough below the second one. */
const MOST_CHECKS = 1_000;
const MOST_CHARACTERS = 200_000;
/** How many further requests may look for the questions for which Castellan refuses a request. One of 1,000 takes 20. */
const MOST_FURTHER_REQUESTS = 100;

/** A token, and the address of the client that presents it, if it is known. */
type Presented = { token: string; address: string | undefined };

/** The decision of one question, or why there is none. */
type Answer = boolean | GuardError;

/** Returns the backend that asks Castellan: introspection (RFC 7662) for tokens, AuthZEN evaluations for decisions. */
export function createHttpBackend(options: HttpBackendOptions): Backend {
  const { maxStaleMs, cacheSize, clockToleranceMs, sharesWork, audience, live } = options;
  const transport = createTransport(options);
  const keySet = createKeySet(() => transport.get('/.well-known/jwks.json'), sharesWork);
  const inspections = createCache<Inspection>(cacheSize, maxStaleMs);
  const decisions = createCache<boolean>(cacheSize, maxStaleMs);
  const unknownKeys = createUnknownKeys();

  /** Asks only about what Castellan may have issued: a key with its checksum, or a token with its signature. */
  async function introspect({ token, address }: Presented): Promise<Inspection | undefined> {
    if (isApiKey(token))
      return isWellFormedKey(token)
        ? unknownKeys.limited(token, address, () => ask(token, undefined))
        : undefined;
    const told = audience === undefined ? undefined : readApplicationToken(token, audience, clockToleranceMs);
    // Anybody can make up such a token, as they can an API key.
    if (told) return unknownKeys.limited(await digestOf(token), address, () => ask(token, told));
    const claims = await verifyAccessToken(token, keySet, clockToleranceMs);
    return claims && ask(token, claims);
  }

  async function ask(token: string, claims: Claims | undefined): Promise<Inspection | undefined> {
    const mark = live?.mark();
    const askedAt = momentNow();
    const include = mark ? 'permissions live' : 'permissions';
    const answer = await transport.post(INTROSPECT, new URLSearchParams({ token, include }));
    const inspection = inspectionOf(answer, audience, isPersonalToken(token));
    if (!inspection) return undefined;
    const { identity } = inspection;
    if (claims && (identity.id !== claims.sub || identity.tokenId !== claims.jti))
      throw malformed(INTROSPECT, 'it is about another token');
    if (!isLive(inspection, answer.iat)) return undefined;
    inspections.set(token, inspection, askedAt);
    mark?.keepInspection(token, inspection, answer, askedAt);
    return inspection;
  }

  const isLive = ({ identity: { expiresAt } }: Inspection, iat: unknown): boolean =>
    isTimely(
      { iat: Number(iat), ...(expiresAt === undefined ? {} : { exp: expiresAt / 1_000 }) },
      clockToleranceMs,
    );

  async function evaluate(checks: readonly Check[]): Promise<Answer[]> {
    const mark = live?.mark();
    const askedAt = momentNow();
    const question = { evaluations: checks.map(evaluationOf) };
    const { evaluations } = await transport.post(EVALUATIONS, question, mark && { prefer: 'live' });
    if (!Array.isArray(evaluations) || evaluations.length !== checks.length)
      throw malformed(EVALUATIONS, 'it has not one decision for each question');
    const all = checks.map((check, index) => answerOf(evaluations[index], check));
    for (const [index, check] of checks.entries()) {
      const answer = all[index];
      if (typeof answer !== 'boolean') continue;
      decisions.set(keyOf(check), answer, askedAt);
      mark?.keepDecision(check, answer, contextOf(evaluations[index]), askedAt);
    }
    return all;
  }

  /** Asks again in halves if Castellan refuses the request, so that one bad question fails alone. Never rejects. */
  async function evaluateApart(checks: readonly Check[], budget: { requests: number }): Promise<Answer[]> {
    try {
      return await evaluate(checks);
    } catch (error) {
      if (!(error instanceof RefusedQuestion) || checks.length === 1 || budget.requests < 2)
        return checks.map(() => refusalOf(error));
      budget.requests -= 2;
      const middle = Math.ceil(checks.length / 2);
      const halves = [checks.slice(0, middle), checks.slice(middle)];
      return (await Promise.all(halves.map((half) => evaluateApart(half, budget)))).flat();
    }
  }

  const inspectSoon = oncePerTick(
    ({ token }: Presented) => token,
    (presented) => presented.map(introspect),
    sharesWork,
  );
  const decideSoon = oncePerTick(
    keyOf,
    (checks: readonly Check[]) =>
      batchesOf(checks).flatMap((batch) => {
        const answers = evaluateApart(batch, { requests: MOST_FURTHER_REQUESTS });
        return batch.map(async (_, index) => {
          const answer = (await answers)[index];
          if (answer instanceof GuardError) throw answer;
          return answer === true;
        });
      }),
    sharesWork,
  );

  /** What is being asked about tokens whose answers may be kept: callers with the same token wait for the first of them. */
  const asking = new Map<string, Promise<unknown>>();

  async function inspectOnce(presented: Presented): Promise<Inspection | undefined> {
    const { token } = presented;
    await asking.get(token)?.catch(() => undefined);
    const kept = live?.inspectionOf(token);
    if (kept) return kept;
    const answer = inspectSoon(presented);
    // Later callers wait for the latest question.
    asking.set(token, answer);
    try {
      return await answer;
    } finally {
      if (asking.get(token) === answer) asking.delete(token);
    }
  }

  return {
    kept: (token) => live?.inspectionOf(token),
    refusal: () => live?.refusal(),
    async inspect(token, address) {
      const kept = live?.inspectionOf(token) ?? inspections.get(token);
      if (kept && (kept.identity.expiresAt ?? Number.POSITIVE_INFINITY) > Date.now()) return kept;
      const refused = live?.refusal();
      if (refused) throw refused;
      // No answer about a token of an application is kept.
      const isKeepable = live?.mark() && audience === undefined;
      return isKeepable ? inspectOnce({ token, address }) : inspectSoon({ token, address });
    },
    async decide({ type, id }, permission) {
      const check: Check = { subject: { type, id }, permission: folded(permission) };
      const kept = live?.decisionOf(check) ?? decisions.get(keyOf(check));
      if (kept !== undefined) return kept;
      const refused = live?.refusal();
      if (refused) throw refused;
      return decideSoon(check);
    },
  };
}

/** Returns the SHA-256 of a token, which is shorter. */
const digestOf = async (token: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))).join();

const EVALUATIONS = '/api/v1/access/v1/evaluations';

const keyOf = ({ subject, permission }: Check): string =>
  JSON.stringify([subject.type, subject.id, permission]);

function evaluationOf({ subject, permission }: Check): Json {
  const [type, name] = partsOf(permission);
  // The standard requires the id of a resource; Castellan decides without it.
  return { subject, action: { name }, resource: { type, id: '*' } };
}

/** Splits questions into requests. */
function batchesOf(checks: readonly Check[]): Check[][] {
  const batches: Check[][] = [];
  let characters = MOST_CHARACTERS;
  for (const check of checks) {
    const { length } = keyOf(check);
    const batch = batches.at(-1);
    if (batch && batch.length < MOST_CHECKS && characters + length <= MOST_CHARACTERS) {
      batch.push(check);
      characters += length;
    } else {
      batches.push([check]);
      characters = length;
    }
  }
  return batches;
}

const contextOf = (item: unknown): Json => (isRecord(item) && isRecord(item.context) ? item.context : {});

/**
 * Returns the decision of one item, or the failure if Castellan could not evaluate it or evaluated another permission. Only the
 * value true grants. Throws `unavailable` for an item that is malformed.
 */
function answerOf(item: unknown, { permission }: Check): Answer {
  if (!isRecord(item) || typeof item.decision !== 'boolean')
    throw malformed(EVALUATIONS, 'a decision is no boolean');
  const context = contextOf(item);
  if (context.error !== undefined)
    return new GuardError('unavailable', `${EVALUATIONS} could not evaluate a question.`);
  if (isText(context.permission) && folded(context.permission) !== permission)
    return malformed(EVALUATIONS, `the decision about ${permission} is about another permission`);
  return item.decision;
}
