// Reads values of unknown type: parsed JSON and thrown values.
// It must not assume that a thrown value is an Error.

/** Whether the value has members: an object or an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Returns a text that Node or PostgreSQL added to an error; undefined when there is none. */
export function errorField(
  thrown: unknown,
  name: 'code' | 'syscall' | 'path' | 'routine' | 'constraint',
): string | undefined {
  const value = isObject(thrown) ? thrown[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Returns the code of an error, such as `ENOENT` or a SQLSTATE; undefined when there is none. */
export const errorCode = (thrown: unknown): string | undefined => errorField(thrown, 'code');

/** Returns the message of an error, or the text of anything else that was thrown. */
export const errorMessage = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
