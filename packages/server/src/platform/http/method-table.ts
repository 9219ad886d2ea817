// Knows which methods each path has, to tell an unknown path (404) from an unknown method (405).
// It is asked only after the router found no route, so a linear search is enough.

/** Returns the path as the router reads it: without origin and query, and decoded if it can be decoded. */
export function decodedPath(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1);
  if (!path.includes('%')) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

export function createMethodTable() {
  const patterns = new Map<string, { test: RegExp; methods: Set<string> }>();
  return {
    add(pattern: string, methods: readonly string[]): void {
      const entry = patterns.get(pattern) ?? { test: toRegExp(pattern), methods: new Set<string>() };
      for (const method of methods) entry.methods.add(method);
      patterns.set(pattern, entry);
    },
    /** Returns the value of an Allow header; undefined when no route has this path. */
    methodsOf(url: string): string | undefined {
      const [path = ''] = url.split('?', 1);
      const methods = new Set<string>();
      for (const { test, methods: some } of patterns.values())
        if (test.test(path)) for (const method of some) methods.add(method);
      return methods.size > 0 ? [...methods].sort().join(', ') : undefined;
    },
  };
}

const toRegExp = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split('/')
      .map((part) =>
        part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
      )
      .join('/')}$`,
  );
