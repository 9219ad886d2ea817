// The process clock. Business decisions use the database's clock; this one serves logs, CSRF tokens and hints.

export type Clock = { /** Milliseconds since the epoch. */ now(): number };

export const systemClock: Clock = { now: () => Date.now() };
