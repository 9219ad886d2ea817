// Live guards in use, and the oracle: when the feed has told everything, what they keep is what the service says when asked.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { atEnd } from '@castellan/embedded-postgres/testing';
import type * as Sdk from '@castellan/sdk';
import type { Guard } from '@castellan/sdk';
import { eventually, type TestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { type Rights, some } from './rights.ts';

// From its sources, because its dist/ exists only after a build.
const { createGuard }: typeof Sdk = await import(
  new URL('src/index.ts', import.meta.resolve('@castellan/sdk/package.json')).href
);

const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const PATIENT_MS = 30_000;

/** Returns two live guards for each address, which are ready. */
export async function openGuards(
  t: TestContext,
  urls: readonly string[],
  { product }: Rights,
): Promise<Guard[]> {
  const guards = urls
    .flatMap((url) => [url, url])
    .map((baseUrl) => createGuard({ baseUrl, apiKey: product.key, live: true, timeoutMs: PATIENT_MS }));
  atEnd(t, () => {
    for (const guard of guards) guard.close();
  });
  await Promise.all(guards.map((guard) => guard.ready()));
  return guards;
}

/**
 * Uses guards as busy services do, so that answers are on their way while things change, until the returned function is called or
 * the test ends.
 */
export function useGuards(t: TestContext, guards: readonly Guard[], { tokens }: Rights): () => Promise<void> {
  let isEnding = false;
  const use = async (guard: Guard): Promise<void> => {
    while (!isEnding) {
      await guard.authenticate(bearing(some(tokens))).catch(() => undefined);
      await pause(1);
    }
  };
  const uses = Promise.all(guards.map(use));
  const stop = async (): Promise<void> => {
    isEnding = true;
    await uses;
  };
  atEnd(t, stop);
  return stop;
}

/** Returns what a guard keeps of a token, about one permission; undefined for nothing. */
export function keptOf(guard: Guard, token: string, permission: string): string | undefined {
  const answer = guard.check(bearing(token), permission);
  return answer instanceof Error ? answer.code : answer && 'known';
}

async function askedOf(truth: Guard, token: string, permission: string): Promise<string> {
  const handler = truth.require(permission).fetch(() => new Response('{"code":"known"}'));
  const response = await handler(new Request('http://orders.test', bearing(token)));
  const { code }: { code: string } = JSON.parse(await response.text());
  return code;
}

/** Keeps an answer about a token that is valid. */
export const keep = (guard: Guard, token: string): Promise<boolean> =>
  eventually(async () => {
    await guard.authenticate(bearing(token)).catch(() => undefined);
    return keptOf(guard, token, 'a.b') === undefined ? undefined : true;
  }, 'a guard keeps an answer');

/** Resolves when every guard has been told of a change that was committed after all others. */
export async function caughtUp({ sql }: Pick<TestService, 'sql'>, guards: readonly Guard[]): Promise<void> {
  const marker = await addServiceAccount({ sql });
  for (const guard of guards) await keep(guard, marker.key);
  await sql('update api_keys set revoked_at = now() where id = $1', [marker.keyId]);
  for (const guard of guards)
    await eventually(
      () => (guard.state().live && keptOf(guard, marker.key, 'a.b') === undefined ? true : undefined),
      'the marker is told',
    );
}

/** Compares everything that guards keep with what the service at this address says. Returns how many answers were compared. */
export async function compare(
  url: string,
  guards: readonly Guard[],
  { tokens, permissions, product }: Rights,
  when: string,
): Promise<number> {
  // A new one, because a guard refuses a key that was unknown without a question for some seconds.
  const truth = createGuard({ baseUrl: url, apiKey: product.key, timeoutMs: PATIENT_MS });
  let compared = 0;
  for (const token of tokens)
    for (const permission of permissions) {
      const said = await askedOf(truth, token, permission);
      assert.notEqual(said, 'unavailable');
      for (const guard of guards) {
        const known = keptOf(guard, token, permission);
        if (known === undefined) continue;
        compared += 1;
        assert.equal(known, said, `${when}, token ${tokens.indexOf(token)}`);
      }
    }
  return compared;
}
