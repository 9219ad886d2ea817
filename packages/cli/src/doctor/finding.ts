// What a probe of `castellan doctor` finds, and how long it may look.
import { setTimeout as wait } from 'node:timers/promises';

export type Level = 'ok' | 'warn' | 'bad';

/** `text`: what was found. `advice`: what to do; null if nothing is to be done. */
export type Finding = { area: string; level: Level; text: string; advice: string | null };

export type Report = Omit<Finding, 'area'>;

export const ok = (text: string): Report => ({ level: 'ok', text, advice: null });
export const warn = (text: string, advice: string): Report => ({ level: 'warn', text, advice });
export const bad = (text: string, advice: string): Report => ({ level: 'bad', text, advice });

const LIMIT_MS = 20_000;

/**
 * Runs a probe, for at most 20 s. A probe that fails is itself a finding, so this never rejects. `advice` says what to do
 * then.
 */
export async function probe(
  area: string,
  advice: string,
  look: () => Promise<readonly Report[]>,
  limitMs = LIMIT_MS,
): Promise<Finding[]> {
  const timer = new AbortController();
  const expired = wait(limitMs, undefined, { signal: timer.signal, ref: false }).then(() => [
    bad(`no answer within ${limitMs / 1_000} s`, advice),
  ]);
  try {
    const found = await Promise.race([look(), expired]);
    return found.map((report) => ({ area, ...report }));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return [{ area, ...bad(text.replace(/\s*\n\s*/g, ' '), advice) }];
  } finally {
    timer.abort();
    expired.catch(() => undefined);
  }
}
