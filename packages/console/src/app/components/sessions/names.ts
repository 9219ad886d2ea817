// What sessions are called.
// It must not name a session by its id: nobody recognizes one.
import { nameOf } from '../../data/me.tsx';
import { t } from '../../text.ts';
import type { ListedSession } from './groups.ts';
import { deviceOf } from './user-agent.ts';

/** Returns such as "Firefox 144 on Windows". */
export function deviceName(userAgent: string | null): string {
  const device = deviceOf(userAgent);
  if (device?.browser && device.system) return t.sessions.browserOn(device.browser, device.system);
  return device?.browser ?? device?.system ?? t.sessions.unknownDevice;
}

/** Returns such as "Grace Hopper, Firefox 144 on Windows"; the device alone where the list is of one person. */
export const sessionName = ({ user, user_agent }: ListedSession): string =>
  [user && nameOf(user), deviceName(user_agent)].filter(Boolean).join(', ');
