// Makes rows of JSON texts.
import type { SourceRow } from '@castellan/server/modules/transfer/service';

const fault = (row: number, message: string): SourceRow => ({
  row,
  fault: { field: '', code: 'unreadable', message },
});

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the object of a JSON text. The fault does not quote the text, as V8's message would. */
export function parsed(row: number, text: string): SourceRow {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fault(row, 'is not JSON');
  }
  return isObject(value) ? { row, value } : fault(row, 'is not a JSON object');
}

/** Returns the value at a path, whose names are separated by dots; undefined if there is none. A name may contain dots. */
export function valueAt(value: unknown, path: string): unknown {
  if (!isObject(value)) return undefined;
  if (Object.hasOwn(value, path)) return value[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const found = Object.hasOwn(value, path.slice(0, dot))
      ? valueAt(value[path.slice(0, dot)], path.slice(dot + 1))
      : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the text at the path; undefined if there is none, or an empty one. */
export function textAt(value: unknown, path: string): string | undefined {
  const found = valueAt(value, path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** Returns the object in a JSON text; undefined if the value is no such text. */
export function objectIn(value: unknown): Record<string, unknown> | undefined {
  if (isObject(value)) return value;
  if (typeof value !== 'string') return undefined;
  try {
    const found: unknown = JSON.parse(value);
    return isObject(found) ? found : undefined;
  } catch {
    return undefined;
  }
}
