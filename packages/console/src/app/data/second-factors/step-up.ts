// Lets requests wait while the person proves again who they are, and sends each once more.
// It must not show anything: the shell shows one dialog, however many requests wait.
import type { Acr, CastellanError } from '@castellan/sdk';
import { acting } from '../../../common/acting/acting.ts';
import { requireFactor } from '../requirement.ts';

export type StepUpAsk = {
  /** The level that every waiting request needs. */
  acr: Acr;
  /** The first request that waits, such as `DELETE /api/v1/auth/factors/totp`. */
  operation: string;
};

type Waiting = { ask: StepUpAsk; resume: () => void; giveUp: () => void };

const levels: readonly Acr[] = ['aal1', 'aal2', 'phr'];

let shown: StepUpAsk | null = null;
/** After Cancel, no read opens the dialog again by itself: reads are repeated without anybody having asked. */
let isDeclined = false;
const waiting = new Set<Waiting>();
const listeners = new Set<() => void>();
const declined = new WeakSet<object>();

function update(): void {
  const asks = [...waiting].map(({ ask }) => ask);
  const acr = levels.findLast((level) => asks.some((ask) => ask.acr === level));
  const [first] = asks;
  const next = first && acr ? { operation: first.operation, acr } : null;
  if (next?.acr === shown?.acr && next?.operation === shown?.operation) return;
  shown = next;
  for (const listener of [...listeners]) listener();
}

export const stepUp = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  /** What to ask for; null while nothing waits. */
  current: (): StepUpAsk | null => shown,
  /** The proof was right: what waits is sent again. */
  done(): void {
    isDeclined = false;
    for (const { resume } of [...waiting]) resume();
  },
  /** What waits fails with its refusal. */
  cancel(): void {
    isDeclined = true;
    for (const { giveUp } of [...waiting]) giveUp();
  },
  /** Lets reads open the dialog again. */
  allowAgain(): void {
    isDeclined = false;
  },
};

/** Whether the person has cancelled the dialog that this refusal opened: they know why nothing happened. */
export const wasDeclined = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && declined.has(error);

type Refusal = Pick<CastellanError, 'code' | 'body'>;

/** Whether the client has rejected with it. */
const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && 'code' in error && 'body' in error;

const isAcr = (value: unknown): value is Acr => levels.some((level) => level === value);

function levelIn({ body }: Refusal): Acr {
  const member: unknown = body?.step_up;
  const acr =
    typeof member === 'object' && member !== null && 'required_acr' in member && member.required_acr;
  return isAcr(acr) ? acr : 'aal1';
}

export type Repeatable = {
  signal?: AbortSignal | undefined;
  /** It changes nothing, so that it may be sent without anybody having asked for it. */
  isRead?: boolean;
};

/** Runs the request. If it needs a newer or stronger proof, waits until the person has given it and repeats it once. */
export async function acrossStepUps<T>(
  operation: string,
  request: () => Promise<T>,
  { signal, isRead = operation.startsWith('GET ') }: Repeatable = {},
): Promise<T> {
  try {
    return await request();
  } catch (error) {
    // Nobody proves who they are as somebody else.
    if (!isRefusal(error) || acting) throw error;
    if (error.code === 'second_factor_enrolment_required') requireFactor(error.body?.required_acr === 'phr');
    if (error.code !== 'step_up_required') throw error;
    if (isDeclined && isRead) throw error;
    await proofFor({ ask: { acr: levelIn(error), operation }, error, signal });
    return await request();
  }
}

type Need = { ask: StepUpAsk; error: Refusal; signal: AbortSignal | undefined };

function proofFor({ ask, error, signal }: Need): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(one);
      update();
    };
    const one: Waiting = {
      ask,
      resume: () => {
        leave();
        resolve();
      },
      giveUp: () => {
        declined.add(error);
        leave();
        reject(error);
      },
    };
    waiting.add(one);
    update();
    signal?.addEventListener('abort', () => {
      leave();
      reject(signal.reason);
    });
  });
}
