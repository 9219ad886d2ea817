// What a sink is: it takes records, in order, and signed heads, and says when they have arrived.

export type SinkRecord = {
  /** Receivers recognize a repeated record by it. */
  id: string;
  /** ISO 8601. */
  time: string;
  /** What happened: lower case letters and `_`. */
  name: string;
  isFailure: boolean;
  /** Short facts for receivers that search without reading JSON. */
  facts: Readonly<Record<string, string>>;
  /** The whole record. */
  content: object;
};

/** A signed head of the audit log; `checkpoint` is the note, and the others are what it says. */
export type SinkHead = { origin: string; seals: number; root: string; checkpoint: string };

/** The type of the message with a head. */
export const HEAD_TYPE = 'audit.head';

export type Sink = {
  /**
   * Resolves when the receiver has the records. Rejects within SEND_TIMEOUT_MS otherwise, with a SinkError if the receiver
   * said more than that it failed.
   */
  send(records: readonly SinkRecord[]): Promise<void>;
  /** Resolves and rejects as `send` does. */
  sendHead(head: SinkHead): Promise<void>;
};

/** Longest duration of `send` in milliseconds. */
export const SEND_TIMEOUT_MS = 10_000;

export class SinkError extends Error {
  override readonly name = 'SinkError';
  /** When the receiver wants to be asked again. */
  readonly retryAfterMs: number | undefined;
  /** Whether fewer records at once may be accepted. */
  readonly isTooLarge: boolean;

  constructor(message: string, options: { retryAfterMs?: number | undefined; isTooLarge?: boolean } = {}) {
    super(message);
    this.retryAfterMs = options.retryAfterMs;
    this.isTooLarge = options.isTooLarge ?? false;
  }
}
