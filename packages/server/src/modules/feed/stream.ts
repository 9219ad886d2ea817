// One reader's stream of changes: a place in the ring and a socket.
// It must not keep changes for a reader that does not take them.
import { Readable } from 'node:stream';
import type { ResetReason } from '@castellan/contract/feed';
import type { Hub } from './hub.ts';
import { beat, bye, changes, hello, reset, sinceArrival } from './messages.ts';
import type { Position } from './positions.ts';
import type { Entry } from './ring.ts';

/** What is written at once. Beyond it, one message has the changes of one row of the log. */
const MOST_BYTES = 65_536;
/** A reader that takes nothing for so long is cut off. */
const MAX_STALL_MS = 10_000;

export type StreamStart = {
  /** By `performance.now()`. */
  arrivedAt: number;
  /** Where the reader goes on; null from now. */
  from: Position | null;
  /** What lies between `from` and the ring. */
  backlog: readonly Entry[];
  /** Why the reader cannot go on from its cursor. */
  refused: ResetReason | null;
  /** Is called when the reader has taken the backlog, or lost it. */
  onCaughtUp: () => void;
};

export class FeedStream extends Readable {
  readonly #hub: Hub;
  readonly #arrivedAt: number;
  readonly #onReset: (reason: ResetReason) => void;
  readonly #onCaughtUp: () => void;
  readonly #waiting: string[] = [];
  #backlog: Entry[];
  #place: Position;
  #wants = false;
  #takenAt = performance.now();
  #isEnding = false;
  #isGreeted = false;

  constructor(hub: Hub, start: StreamStart, onReset: (reason: ResetReason) => void) {
    // Reads one message ahead of the socket.
    super({ highWaterMark: 1 });
    this.#hub = hub;
    this.#arrivedAt = start.arrivedAt;
    this.#onReset = onReset;
    this.#onCaughtUp = start.onCaughtUp;
    this.#backlog = [...start.backlog];
    const { head } = hub.ring;
    const resumed = start.from !== null && start.refused === null;
    this.#place = this.#backlog.at(-1) ?? (resumed && start.from ? start.from : head);
    const isBehind = this.#backlog.length > 0 || hub.ring.after(this.#place) !== undefined;
    const at = isBehind ? this.#since(null) : this.#now();
    const position = resumed && start.from ? start.from : head;
    this.#waiting.push(hello(position, { at, live: hub.isLive, resumed }));
    if (start.refused) this.#forget(start.refused);
  }

  override _read(): void {
    this.#wants = true;
    this.#takenAt = performance.now();
    this.advance();
  }

  /** Sends what is next, if the reader takes it. */
  advance(): void {
    if (!this.#wants || this.destroyed) return;
    const text = this.#next();
    if (text === '') return;
    this.#wants = false;
    this.push(text);
  }

  /** Tells a reader who has everything that this is so. */
  beat(): void {
    if (!this.#wants || this.#isEnding || this.destroyed) return;
    const text = this.#next() || beat(this.#now(), this.#hub.isLive);
    this.#wants = false;
    this.push(text);
  }

  /** The ring begins anew. */
  restart(reason: ResetReason): void {
    this.#backlog = [];
    this.#onCaughtUp();
    this.#waiting.length = this.#isGreeted ? 0 : 1;
    // First: between the two, a reader would keep answers that may change without a word.
    if (!this.#hub.isLive) this.#waiting.push(beat(this.#now(), false));
    this.#forget(reason);
    this.advance();
  }

  /** Whether the reader has taken nothing for too long. */
  get isStalled(): boolean {
    return !this.#wants && performance.now() - this.#takenAt > MAX_STALL_MS;
  }

  /** Ends the stream; the reader comes back after `retryMs`. */
  finish(retryMs: number): void {
    if (this.#isEnding || this.destroyed) return;
    this.#isEnding = true;
    this.push(bye(retryMs));
    this.push(null);
  }

  #since(time: number | null): number {
    return sinceArrival(time, this.#arrivedAt);
  }

  #now(): number {
    return this.#since(this.#hub.completeAt);
  }

  #forget(reason: ResetReason): void {
    this.#place = this.#hub.ring.head;
    this.#waiting.push(reset(this.#place, this.#now(), reason));
    this.#onReset(reason);
  }

  #next(): string {
    if (this.#isEnding) return '';
    const [first] = this.#waiting.splice(0, 1);
    this.#isGreeted = true;
    if (first !== undefined) return first;
    if (this.#backlog.length === 0 && !this.#hub.ring.has(this.#place)) {
      this.#forget('behind');
      return this.#next();
    }
    const entries = this.#gather();
    const last = entries.at(-1);
    if (!last) return '';
    if (this.#backlog.length === 0) this.#place = last;
    const hasAll = this.#backlog.length === 0 && this.#hub.ring.after(last) === undefined;
    return changes(
      last,
      hasAll ? this.#now() : this.#since(last.completeAt),
      entries.map(({ text }) => text).join(','),
    );
  }

  /** Returns at least one entry, if there is one, and as many as are sent together. */
  #gather(): Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    const takes = (entry: Entry): boolean => {
      if (entries.length > 0 && bytes + entry.text.length > MOST_BYTES) return false;
      entries.push(entry);
      bytes += entry.text.length;
      return true;
    };
    while (this.#backlog[0] && takes(this.#backlog[0])) this.#backlog.splice(0, 1);
    if (entries.length > 0) {
      if (this.#backlog.length === 0) this.#onCaughtUp();
      return entries;
    }
    for (
      let next = this.#hub.ring.after(this.#place);
      next && takes(next);
      next = this.#hub.ring.after(next)
    );
    return entries;
  }
}
