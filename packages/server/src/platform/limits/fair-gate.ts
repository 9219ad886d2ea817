// Limits concurrent work in this process, and how much of it is one user's. A user without a turn goes before those who have one.
// It must not query the database, nor keep anything about an idle key.
import { GateFullError, type Leave } from './gate.ts';

export type FairGateOptions = {
  /** Number of tasks that run at once, of all keys. */
  running: number;
  /** Number of tasks that run at once for one key. */
  runningOfKey: number;
  /** Number of tasks that wait, of all keys. One more is refused at once. */
  waiting: number;
};

export type FairGate = {
  /**
   * Takes a turn. A free one goes to the first waiting task whose key has none, otherwise to the first whose key may have
   * another. Throws GateFullError when too many wait, and the reason of `gone` when that aborts before the turn.
   */
  enter(key: string, gone: AbortSignal): Promise<Leave>;
  stats(): { running: number; waiting: number };
};

type Waiter = { key: string; begin: () => void };

export function createFairGate({
  running: limit,
  runningOfKey,
  waiting: maxWaiting,
}: FairGateOptions): FairGate {
  /** Turns by key; never zero. */
  const running = new Map<string, number>();
  const waiting: Waiter[] = [];
  const turnsOf = (key: string): number => running.get(key) ?? 0;
  const all = (): number => [...running.values()].reduce((sum, turns) => sum + turns, 0);

  const next = (): Waiter | undefined =>
    waiting.find(({ key }) => turnsOf(key) === 0) ?? waiting.find(({ key }) => turnsOf(key) < runningOfKey);

  function handOut(): void {
    for (let waiter = next(); waiter && all() < limit; waiter = next()) {
      waiting.splice(waiting.indexOf(waiter), 1);
      running.set(waiter.key, turnsOf(waiter.key) + 1);
      waiter.begin();
    }
  }

  function leaveOf(key: string): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const turns = turnsOf(key) - 1;
      if (turns === 0) running.delete(key);
      else running.set(key, turns);
      handOut();
    };
  }

  return {
    async enter(key, gone) {
      gone.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiter = { key, begin: resolve };
      waiting.push(waiter);
      handOut();
      const index = waiting.indexOf(waiter);
      if (index >= maxWaiting) {
        waiting.splice(index, 1);
        throw new GateFullError();
      }
      const giveUp = (): void => {
        const place = waiting.indexOf(waiter);
        // Otherwise the task has its turn already, which ends below.
        if (place >= 0) waiting.splice(place, 1);
        reject(gone.reason);
      };
      gone.addEventListener('abort', giveUp, { once: true });
      await promise.finally(() => gone.removeEventListener('abort', giveUp));
      const leave = leaveOf(key);
      if (!gone.aborted) return leave;
      leave();
      throw gone.reason;
    },
    stats: () => ({ running: all(), waiting: waiting.length }),
  };
}
