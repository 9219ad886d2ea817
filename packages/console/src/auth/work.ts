// What a form does when it is sent: one request at a time, its failure, and the wait that the service asks for.
import { type FormEvent, useEffect, useState } from 'react';
import { waitOf } from './client.ts';

const SECOND_MS = 1_000;

export type Work = {
  onSubmit: (event: FormEvent) => void;
  /** Begins as a click on the button does. */
  start: () => void;
  /** Forgets the last failure. */
  clear: () => void;
  isPending: boolean;
  error: unknown;
  /** Seconds until another attempt makes sense; 0 if it does now. */
  wait: number;
};

/** Returns the seconds until `untilMs`, counting down. */
export function useCountdown(untilMs: number): number {
  const [now, setNow] = useState(Date.now);
  const left = Math.max(0, Math.ceil((untilMs - now) / SECOND_MS));
  useEffect(() => {
    setNow(Date.now());
    if (untilMs <= Date.now()) return;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= untilMs) clearInterval(timer);
    }, SECOND_MS / 2);
    return () => clearInterval(timer);
  }, [untilMs]);
  return left;
}

/** Runs `send` on submit. What it throws is kept until the next attempt. */
export function useWork(send: () => Promise<void>): Work {
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [until, setUntil] = useState(0);
  const wait = useCountdown(until);
  const run = async (): Promise<void> => {
    setPending(true);
    try {
      await send();
      setError(null);
    } catch (failure) {
      setError(failure);
      const waitMs = waitOf(failure);
      if (waitMs !== null) setUntil(Date.now() + waitMs);
    } finally {
      setPending(false);
    }
  };
  const start = (): void => {
    if (!isPending && wait === 0) void run();
  };
  return {
    isPending,
    error,
    wait,
    start,
    clear: () => setError(null),
    onSubmit: (event) => {
      event.preventDefault();
      start();
    },
  };
}
