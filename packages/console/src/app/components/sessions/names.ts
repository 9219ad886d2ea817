// What sessions are called.
// It must not name a session by its id: nobody recognizes one.
import { locale } from '../../../common/language.ts';
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

type Way = keyof typeof t.sessions.ways;
const isWay = (name: string): name is Way => Object.hasOwn(t.sessions.ways, name);

/** Returns such as "Signed in with password and authenticator app". */
export function beganWith(methods: readonly string[]): string {
  const ways = methods.filter(isWay).map((name) => t.sessions.ways[name]);
  return t.sessions.began(new Intl.ListFormat(locale, { type: 'conjunction' }).format(ways));
}

/** Returns such as "Grace Hopper, Firefox 144 on Windows"; the device alone where the list is of one person. */
export const sessionName = ({ user, user_agent }: ListedSession): string =>
  [user && nameOf(user), deviceName(user_agent)].filter(Boolean).join(', ');
