// Keeps the figures of the database for a few seconds, so that scrapers cost nothing more than one statement.
// It must not delay a scrape for longer than scrapers wait.
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../platform/logging/log.ts';
import type { Db } from '../schema/database.ts';
import { type DatabaseFigures, readFigures } from './figures-store.ts';

/** How long figures are used again. Prometheus asks every 15 s by default, often from two servers. */
const KEPT_MS = 5_000;
/** Longest wait for the database. Prometheus waits 10 s for a scrape. */
const MAX_WAIT_MS = 2_000;

/** Returns the figures, at most 5 s old; null if the database did not give them within 2 s. */
export type FigureSource = () => Promise<DatabaseFigures | null>;

export function createFigureSource(db: Db, log: Logger): FigureSource {
  let kept: DatabaseFigures | null = null;
  let keptUntil = 0;
  let reading: Promise<DatabaseFigures | null> | undefined;
  let isFailing = false;

  async function read(): Promise<DatabaseFigures | null> {
    try {
      kept = await readFigures(db);
      isFailing = false;
    } catch (error) {
      kept = null;
      if (!isFailing) log.warn({ err: error }, 'metrics of the database cannot be read');
      isFailing = true;
    }
    keptUntil = performance.now() + KEPT_MS;
    return kept;
  }

  return async () => {
    if (performance.now() < keptUntil) return kept;
    // A statement that was given up here goes on until its own timeout; no second one is sent until then.
    reading ??= read().finally(() => {
      reading = undefined;
    });
    const bound = new AbortController();
    const late = wait(MAX_WAIT_MS, null, { signal: bound.signal }).catch(() => null);
    const figures = await Promise.race([reading, late]);
    bound.abort();
    return figures;
  };
}
