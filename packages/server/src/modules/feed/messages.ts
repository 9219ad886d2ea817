// The messages of a stream of changes, as text/event-stream (HTML standard, section 9.2). It must not send one.
import type { ResetReason } from '@castellan/contract/feed';
import { cursorOf, type Position } from './positions.ts';

export const BEAT_MS = 1_000;

/** `at` of what says nothing about how complete it is: a day before the request, which every reader takes for a long silence. */
const LONG_AGO_MS = -86_400_000;

/** Returns the time since the arrival of a request, in whole milliseconds, rounded down. */
export const sinceArrival = (time: number | null, arrivedAt: number): number =>
  time === null ? LONG_AGO_MS : Math.max(LONG_AGO_MS, Math.floor(time - arrivedAt));

const message = (event: string, data: string, position?: Position): string =>
  `event: ${event}\n${position ? `id: ${cursorOf(position)}\n` : ''}data: ${data}\n\n`;

export const hello = (position: Position, told: { at: number; live: boolean; resumed: boolean }): string =>
  message(
    'hello',
    JSON.stringify({ at: told.at, beat_ms: BEAT_MS, live: told.live, resumed: told.resumed }),
    position,
  );

/** `text`: the changes as members of a JSON array. */
export const changes = (position: Position, at: number, text: string): string =>
  message('changes', `{"at":${at},"changes":[${text}]}`, position);

export const beat = (at: number, live: boolean): string => message('beat', `{"at":${at},"live":${live}}`);

export const reset = (position: Position, at: number, reason: ResetReason): string =>
  message('reset', JSON.stringify({ at, reason }), position);

export const bye = (retryMs: number): string => message('bye', JSON.stringify({ retry_ms: retryMs }));
