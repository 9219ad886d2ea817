// Finds members that an object names twice, of which JSON.parse silently keeps the last. It must only be given valid JSON.

/** A text, or what opens, closes or separates. Numbers and words are passed over. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** Returns whether an object in the JSON, at any depth, names a member twice, in whatever spelling. */
export function hasRepeatedMember(json: string): boolean {
  // Null for an array.
  const open: (Set<string> | null)[] = [];
  let last = '';
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const names = open.at(-1);
      const name: unknown = JSON.parse(last);
      if (names && typeof name === 'string') {
        if (names.has(name)) return true;
        names.add(name);
      }
    }
    last = token;
  }
  return false;
}
