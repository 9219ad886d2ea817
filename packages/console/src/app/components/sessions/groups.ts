// Sessions of one person on one device, put together.
// It must not hide what stands out: the session in use, those in which somebody else acts and those of an unusual network are never folded among others.
import type { Session, UserSession } from '@castellan/sdk';
import { deviceOf } from './user-agent.ts';

export type ListedSession = Session & { user?: UserSession['user'] };

export type SessionGroup<S> = { key: string; sessions: readonly [S, ...S[]] };

/** Two devices are the same as far as people see: by the name that is shown, or without one by the whole User-Agent. */
function keyOf({ id, user, user_agent, current, acted_by, unusual_network }: ListedSession): string {
  if (current || acted_by) return id;
  const device = deviceOf(user_agent);
  const name = device?.browser || device?.system ? [device.browser, device.system, device.kind] : user_agent;
  return JSON.stringify([user?.id, name, unusual_network]);
}

/** Returns every session once. A group stands where its first session stood, and keeps the order of its sessions. */
export function groupSessions<S extends ListedSession>(sessions: readonly S[]): SessionGroup<S>[] {
  const groups = new Map<string, [S, ...S[]]>();
  for (const session of sessions) {
    const key = keyOf(session);
    const group = groups.get(key);
    if (group) group.push(session);
    else groups.set(key, [session]);
  }
  return [...groups].map(([key, members]) => ({ key, sessions: members }));
}
