// Acting as another user: how it begins, how it ends, and what the page does then.
// It must not go on after its end: whatever ends it, the page asks to load anew as the person themselves.
import type { User } from '@castellan/sdk';
import { acting, beginActing, leaveActing } from '../../../common/acting/acting.ts';
import { call, queryClient } from '../api.ts';
import { auth } from '../auth.ts';
import { nameOf } from '../me.tsx';

export { acting, formerName, leaveActing } from '../../../common/acting/acting.ts';

/** Why nobody acts now: its time is up, or the service ended it. */
export type ActingEnd = 'time' | 'ended';

let ended: ActingEnd | null = null;
const listeners = new Set<() => void>();

function end(why: ActingEnd): void {
  if (ended) return;
  ended = why;
  // What the user sees must not show any longer.
  queryClient.clear();
  for (const listener of [...listeners]) listener();
}

if (acting) {
  setTimeout(() => end('time'), acting.untilMs - Date.now());
  auth.subscribe(({ state }) => {
    if (state !== 'authenticated') end('ended');
  });
}

export const actingEnd = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  /** Null while the person acts, and on pages on which they act as themselves. */
  current: (): ActingEnd | null => ended,
};

type Wanted = { reason: string; minutes: number };

/** Starts to act as the user. The page loads anew. */
export async function startActing(user: User, body: Wanted): Promise<void> {
  const { data } = await call('POST /api/v1/users/{user_id}/act-as', { path: { user_id: user.id }, body });
  beginActing({ token: data.access_token, name: nameOf(user), minutes: body.minutes });
}

/** Ends the session of who acts, and no other. The page loads anew, as the person themselves. */
export async function stopActing(): Promise<void> {
  await call('POST /api/v1/auth/logout', {});
  leaveActing();
}
