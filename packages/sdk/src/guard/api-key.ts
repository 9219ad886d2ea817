// The format of API keys, `castellan_<12 characters>_<43>_<6 of checksum>`, and of personal access tokens, which begin with
// `castellan_pat_`, in base62. A wrong one needs no question.

const MARK = 'castellan_';
export const PERSONAL_MARK = 'castellan_pat_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = /^(castellan_(?:pat_)?[\dA-Za-z]{12}_[\dA-Za-z]{43})_([\dA-Za-z]{6})$/;

/** Tells whether the text claims to be an API key or a personal access token. They are opaque: only Castellan can tell whose they are. */
export const isApiKey = (text: string): boolean => text.startsWith(MARK);

/** Tells whether the text claims to be a personal access token. Every one also claims to be an API key. */
export const isPersonalToken = (text: string): boolean => text.startsWith(PERSONAL_MARK);

/** Tells whether the text has the format and the checksum of an API key or a personal access token. */
export function isWellFormedKey(text: string): boolean {
  const [, unchecked, checksum] = FORMAT.exec(text) ?? [];
  return unchecked !== undefined && checksumOf(unchecked) === checksum;
}

/** Returns an API key that is well-formed, for tests. With another mark, a secret of that kind. */
export function makeKey(mark = MARK): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12 + 43));
  const text = Array.from(bytes, (byte) => ALPHABET[byte % 62]).join('');
  const unchecked = `${mark}${text.slice(0, 12)}_${text.slice(12)}`;
  return `${unchecked}_${checksumOf(unchecked)}`;
}

/** Returns the CRC-32 of an ASCII text in base62. */
function checksumOf(text: string): string {
  let crc = -1;
  for (let at = 0; at < text.length; at += 1) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let rest = ~crc >>> 0;
  let digits = '';
  for (let position = 0; position < 6; position += 1) {
    digits = `${ALPHABET[rest % 62]}${digits}`;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
