// A sign-in whose password was right, or which began at a provider, and which waits for its second step. It is kept for this tab, so that a reload, or a
// tab that a phone has discarded, returns to it. It must not keep the password.
import type { PasskeyRequestOptions } from '@castellan/sdk';
import { PENDING } from './waiting.ts';

const methods = ['passkey', 'totp', 'recovery_code', 'recovery_link'] as const;
export type Method = (typeof methods)[number];

export type Pending = {
  email: string;
  token: string;
  /** The likeliest first; at least one. */
  methods: readonly [Method, ...Method[]];
  passkey: PasskeyRequestOptions | null;
  /** For how long the device can be trusted: null if it is not known, 0 if it cannot be. */
  trustDays: number | null;
  /** When the password was accepted, by the clock of this browser, in milliseconds. */
  startedMs: number;
};

/** The service ends a sign-in that has waited this long. */
const LIFETIME_MS = 10 * 60_000;

const isMethod = (value: unknown): value is Method => methods.some((one) => one === value);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const isOptions = (value: unknown): value is PasskeyRequestOptions =>
  isRecord(value) && typeof value.challenge === 'string';

/** Reads the member `second_factor` of a sign-in that is not complete. Returns null if it has no method that these pages know. */
export function pendingIn(told: unknown, email: string, nowMs: number = Date.now()): Pending | null {
  if (!isRecord(told) || typeof told.token !== 'string' || !Array.isArray(told.methods)) return null;
  const [first, ...rest] = told.methods.filter(isMethod);
  if (!first) return null;
  return {
    email,
    token: told.token,
    methods: [first, ...rest],
    passkey: isOptions(told.passkey) ? told.passkey : null,
    trustDays: told.may_trust_device === true ? null : 0,
    startedMs: nowMs,
  };
}

/** Without storage, only a reload asks for the password again. */
let latest: Pending | null = null;

export function keepPending(pending: Pending): void {
  latest = pending;
  try {
    sessionStorage.setItem(PENDING, JSON.stringify(pending));
  } catch {
    // It stays in memory.
  }
}

/** Returns the sign-in that waits in this tab; null without one. */
export function keptPending(): Pending | null {
  try {
    return latest ?? JSON.parse(sessionStorage.getItem(PENDING) ?? 'null');
  } catch {
    return null;
  }
}

/** Returns whether the service has ended it by now. */
export const isOver = ({ startedMs }: Pending, nowMs: number = Date.now()): boolean =>
  nowMs - startedMs >= LIFETIME_MS;
