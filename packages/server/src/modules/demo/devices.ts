// The devices and networks that made-up people use.
// It must not contain an address outside the ranges reserved for documentation (RFC 5737, RFC 3849).
import type { Random } from './random.ts';

const desktops = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0',
];
const phones = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (iPad; CPU OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
];

/** A device in a network, as a session and an audit entry show it. */
export type Device = { address: string; user_agent: string };

/** The desktop and the phone of one person. Most desktops are in one of two offices, phones at home. */
export type Belongings = { desktop: Device; phone: Device };

/** Tells who attacks in the made-up audit log. */
export const attacker: Device = { address: '203.0.113.66', user_agent: 'python-requests/2.32.5' };

export function createBelongings(random: Random): Belongings {
  const office = random.pick(['192.0.2', '192.0.2', '198.51.100']);
  const home = random.chance(0.4)
    ? `2001:db8:${random.between(1, 0xfff).toString(16)}::${random.between(1, 0xff).toString(16)}`
    : `203.0.113.${random.between(100, 250)}`;
  const isAtOffice = random.chance(0.7);
  return {
    desktop: {
      address: isAtOffice ? `${office}.${random.between(2, 250)}` : home,
      user_agent: random.pick(desktops),
    },
    phone: { address: home, user_agent: random.pick(phones) },
  };
}
