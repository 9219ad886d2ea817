// The clock of the process, for logs, CSRF tokens and hints. Business rules must use the database's clock.

export type Clock = { /** Milliseconds since the epoch. */ now(): number };

export const systemClock: Clock = { now: () => Date.now() };
