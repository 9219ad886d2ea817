// Writes JSON in its canonical form: JCS (RFC 8785). Equal values have equal texts, in every language.
// It must not read text: a value that JSON cannot hold is refused, never changed.

/**
 * Returns the canonical text. Members are sorted by UTF-16 code units; numbers and strings are as ECMAScript writes them. Throws
 * TypeError for a value that JSON cannot hold: a number that is not finite, a lone surrogate, `undefined`, a function, a bigint.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new TypeError('canonical JSON cannot hold a lone surrogate');
    return JSON.stringify(value);
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`canonical JSON cannot hold ${value}`);
    return JSON.stringify(value);
  }
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`canonical JSON cannot hold a ${typeof value}`);
  let text = '';
  // Without a comparison function, sort() compares UTF-16 code units, as RFC 8785, 3.2.3 wants it.
  for (const name of Object.keys(value).sort())
    text += `${text === '' ? '' : ','}${canonicalJson(name)}:${canonicalJson(Reflect.get(value, name))}`;
  return `{${text}}`;
}
