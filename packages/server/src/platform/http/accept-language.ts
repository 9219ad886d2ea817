// Reads the header Accept-Language (RFC 9110, 12.5.4).
// It must not choose a default: a header that names none of the languages says nothing.
import { parseRange } from './accept.ts';

/** A language range (RFC 4647, 2.1) without its wildcard. */
const languageRange = /^([a-z]{2,8})(?:-[a-z0-9]{1,8})*$/;

/**
 * Returns the language that the client prefers, null if the header names none. A range such as `de-CH` names `de`. Of
 * equal ones, the first counts. The wildcard counts for none: many HTTP clients send it on behalf of nobody. Takes time
 * linear in the length of the header.
 */
export function preferredLanguage<T extends string>(
  languages: readonly T[],
  acceptLanguage: string | null,
): T | null {
  let best: { language: T; quality: number } | null = null;
  for (const range of (acceptLanguage ?? '').split(',')) {
    const [name, quality] = parseRange(range);
    const primary = languageRange.exec(name)?.[1];
    const language = languages.find((one) => one === primary);
    if (language !== undefined && quality > (best?.quality ?? 0)) best = { language, quality };
  }
  return best?.language ?? null;
}
