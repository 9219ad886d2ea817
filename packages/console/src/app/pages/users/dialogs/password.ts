// Makes passwords that meet every policy: long, of four kinds of characters, without runs.

const kinds = ['ABCDEFGHJKLMNPQRSTUVWXYZ', 'abcdefghijkmnpqrstuvwxyz', '23456789', '!#%+-=?@_'] as const;
const LENGTH = 20;

/** Returns an unbiased number from 0 to `below` - 1. */
function randomBelow(below: number): number {
  const limit = Math.floor(256 / below) * below;
  for (;;) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < limit) return byte % below;
  }
}

/** Returns a new password: more than 100 bits, no characters that look alike. Neighbours are of different kinds. */
export function makePassword(): string {
  let password = '';
  let last = -1;
  while (password.length < LENGTH) {
    // Each kind appears: the first four characters take one of each, in a fixed order of kinds.
    const kind = password.length < kinds.length ? password.length : randomBelow(kinds.length);
    if (kind === last) continue;
    const characters = kinds[kind] ?? '';
    password += characters[randomBelow(characters.length)];
    last = kind;
  }
  return password;
}
