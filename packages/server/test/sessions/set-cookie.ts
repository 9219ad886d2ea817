// Reads one Set-Cookie header of an answer into its value and attributes.
// It must not hide a cookie that is set twice.
import assert from 'node:assert/strict';
import type { Answer } from '@castellan/testing/client';

export type SetCookie = { value: string; attributes: Record<string, string> };

/** Returns undefined if the answer sets no such cookie. Attribute names are in lower case; flags are empty strings. */
export function setCookieOf(answer: Answer, name: string): SetCookie | undefined {
  const found = answer.headers.getSetCookie().filter((line) => line.startsWith(`${name}=`));
  assert.ok(found.length <= 1, `${name} is set ${found.length} times`);
  const [pair, ...rest] = found[0]?.split('; ') ?? [];
  if (pair === undefined) return undefined;
  const attributes = rest.map((one) => {
    const [key = '', value = ''] = one.split('=');
    return [key.toLowerCase(), value];
  });
  return { value: pair.slice(name.length + 1), attributes: Object.fromEntries(attributes) };
}
