// Reads codes of digits as people type and paste them.

/** Returns the digits without blanks and hyphens; null if the text is something else. */
function digitsIn(text: string, count: number): string | null {
  const code = text.normalize('NFKC').replaceAll(/[\s\p{Pd}\p{Cf}]/gu, '');
  return /^[0-9]*$/.test(code) && code.length === count ? code : null;
}

/** The code of an authenticator app. */
export const appCodeIn = (text: string): string | null => digitsIn(text, 6);
/** The code of a mail that confirms an address. */
export const mailCodeIn = (text: string): string | null => digitsIn(text, 8);
