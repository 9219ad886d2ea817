// A process with a live guard, which faults.ts drives: it keeps tokens and says when it last used what it keeps of one.
// Its parent sends `{ keep: [token] }` and `{ watch: token }`, and is told `{ kept }` and `{ lastUsedAt }`, in ms since 1970.
// It must not judge what it sees.
import { createGuard } from '../../packages/sdk/src/guard.ts';

const { CASTELLAN_URL: baseUrl = '', CASTELLAN_API_KEY: apiKey = '', DATE_SHIFT_MS = '0' } = process.env;
const PERMISSION = 'orders.read';
const trueNow = Date.now.bind(Date);
// A wrong clock, from when the guard runs.
let shiftMs = 0;
Date.now = () => trueNow() + shiftMs;

const guard = createGuard({ baseUrl, apiKey, live: true, clockToleranceMs: 7_200_000 });
const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const isKept = (token: string): boolean => {
  const answer = guard.check(bearing(token), PERMISSION);
  return answer !== undefined && !(answer instanceof Error);
};

process.on('message', async (message: { keep?: string[]; watch?: string }) => {
  if (message.keep) {
    await guard.ready();
    for (const token of message.keep) await guard.authenticate(bearing(token));
    process.send?.({ kept: message.keep.filter(isKept).length });
    shiftMs = Number(DATE_SHIFT_MS);
  }
  const { watch } = message;
  if (watch === undefined) return;
  // As a busy service: looks all the time, and lets the stream be read in between.
  let lastUsedAt = 0;
  const look = (): void => {
    const now = trueNow();
    if (!isKept(watch)) {
      process.send?.({ lastUsedAt });
      return;
    }
    lastUsedAt = now;
    setTimeout(look, 1);
  };
  look();
});
process.send?.({ started: true });
