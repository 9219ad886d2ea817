// Judges from the beats of a worker whether its event loop still turns. It must not read a clock: after a pause of the machine,
// or of the supervisor, the time says nothing about the worker. Ticks do not pass in such a pause.

/** Time between two beats of a worker, and between two ticks of its supervisor. */
export const BEAT_MS = 5_000;

/** 15 to 20 s in all: more than a collection of a large heap on a busy machine, and no client waits longer. */
export const MAX_SILENT_TICKS = 3;

export type Pulse = {
  /** Notes a beat of the worker. */
  beat(): void;
  /** Counts a tick of the supervisor. Returns true once, when the worker counts as hanging. */
  tick(): boolean;
};

/** Returns the pulse of a worker that has just been started. It is not judged before its first beat. */
export function createPulse(): Pulse {
  let silentTicks: number | undefined;
  return {
    beat() {
      // The beat and the next tick may be moments apart, so that tick is none of the silent ones.
      silentTicks = -1;
    },
    tick() {
      if (silentTicks === undefined) return false;
      silentTicks += 1;
      return silentTicks === MAX_SILENT_TICKS;
    },
  };
}
