// Reads the code of an authenticator app as people type and paste it.

/** Returns the six digits without blanks and hyphens; null if the text is something else. */
export function appCodeIn(text: string): string | null {
  const code = text.normalize('NFKC').replaceAll(/[\s\p{Pd}\p{Cf}]/gu, '');
  return /^[0-9]{6}$/.test(code) ? code : null;
}
