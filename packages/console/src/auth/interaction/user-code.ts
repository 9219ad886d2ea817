// Reads the code of a device as people type and paste it.

/** Returns the eight letters as devices show them, such as `BCDF-GHJK`; null if the text is something else. */
export function userCodeIn(text: string): string | null {
  const code = text
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}\p{Cf}]/gu, '')
    .toUpperCase();
  return /^[A-Z]{8}$/.test(code) ? `${code.slice(0, 4)}-${code.slice(4)}` : null;
}
