// Limits wrong API keys and wrong secrets of applications by the network of the client, in this process: guessing costs no statement after the limit.
// It must not lock out clients whose key was right a moment ago.
import { AppError } from '../../platform/errors.ts';
import { createLocalLimit } from '../../platform/limits/local-limit.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { networkOf } from '../../platform/security/client-address.ts';

export type WrongKeyLimit = {
  /** Returns `rate_limited` if the network has used up its wrong keys and this key was not right there lately. */
  refusalOf(address: string, hash: Buffer | undefined): AppError | null;
  /** Counts a wrong key. Returns `rate_limited` if it is beyond the limit. */
  countWrong(address: string): AppError | null;
  /** Notes that the key with this hash was right. */
  countRight(address: string, hash: Buffer): void;
};

/** Wrong keys of one network in a minute (access API: 30). */
const wrongKeyRule: RateLimitRule = { limit: 30, windowSeconds: 60 };
/** How long a key that was right passes in spite of the limit. */
const TRUSTED_MS = 10 * 60_000;
// About 10 MB. Beyond it, the key that was right the longest time ago is forgotten.
const MAX_TRUSTED = 50_000;

/** `now` is monotonic, in milliseconds. `what` completes "Too many wrong … from this network". */
export function createWrongKeyLimit({
  now = () => performance.now(),
  what = 'API keys',
} = {}): WrongKeyLimit {
  const wrong = createLocalLimit(wrongKeyRule, { now });
  const rightAt = new Map<string, number>();

  const refuse = (seconds: number): AppError =>
    new AppError('rate_limited', {
      detail: `Too many wrong ${what} from this network. Wait before you try again.`,
      retryAfterSeconds: seconds,
    });
  const keyOf = (address: string, hash: Buffer): string => `${networkOf(address)}|${hash.toString('base64')}`;

  return {
    refusalOf(address, hash) {
      const state = wrong.usedUp(networkOf(address));
      if (!state) return null;
      const right = hash && rightAt.get(keyOf(address, hash));
      return right !== undefined && now() - right < TRUSTED_MS ? null : refuse(state.resetSeconds);
    },
    countWrong(address) {
      const state = wrong.hit(networkOf(address));
      return state.allowed ? null : refuse(state.resetSeconds);
    },
    countRight(address, hash) {
      const key = keyOf(address, hash);
      // Moved to the end, so that the first key is the oldest one.
      rightAt.delete(key);
      rightAt.set(key, now());
      const [oldest] = rightAt.keys();
      if (rightAt.size > MAX_TRUSTED && oldest !== undefined) rightAt.delete(oldest);
    },
  };
}
