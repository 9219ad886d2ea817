// The network of an address: the part that stays when a device gets a new address at the same place.

/** Returns the /24 of an IPv4 address and the /64 of an IPv6 address; null for anything else. */
export function networkOf(address: string | null): string | null {
  const text = (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  const four = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/.exec(text);
  if (four) return `${four[1]}.0/24`;
  if (!/^[0-9a-f:]+$/i.test(text) || !text.includes(':')) return null;
  return networkOfSix(text.toLowerCase());
}

const GROUPS = 8;
const NETWORK_GROUPS = 4;

function networkOfSix(address: string): string | null {
  const [head = '', tail, ...more] = address.split('::');
  if (more.length > 0) return null;
  const before = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':') : [];
  const missing = GROUPS - before.length - after.length;
  const isComplete = tail === undefined;
  if (isComplete ? missing !== 0 : missing < 0) return null;
  const all = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  if (all.some((group) => !/^[0-9a-f]{1,4}$/.test(group))) return null;
  const network = all.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
  // The host part is zero, so that zeros at the end of the network belong to it.
  while (network.at(-1) === '0') network.pop();
  return `${network.join(':')}::/64`;
}
