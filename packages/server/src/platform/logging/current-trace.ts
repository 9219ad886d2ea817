// The trace that the running code belongs to. It loads nothing, so that it costs nothing while tracing is off.
import { AsyncLocalStorage } from 'node:async_hooks';

export type ActiveTrace = {
  /** 32 hexadecimal digits; undefined for a trace that is not sampled. */
  readonly traceId: string | undefined;
};

const active = new AsyncLocalStorage<ActiveTrace>();

export const currentTrace = (): ActiveTrace | undefined => active.getStore();

/** Runs a function, and everything that it causes, as a part of the trace. */
export const within = <R>(trace: ActiveTrace, run: () => R): R => active.run(trace, run);
