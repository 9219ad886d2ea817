// Notes when a credential is used, without delaying the request. Uses of one tick share one statement.
// It must not fail a request.
import type { Logger } from '../../platform/logging/log.ts';

/**
 * Returns a function that notes a use by the id of the credential; the caller decides how often. `write` writes those of one tick.
 * `what` completes "the use of … could not be noted".
 */
export function createUseNotes(
  log: Logger,
  what: string,
  write: (ids: readonly string[]) => Promise<void>,
): (id: string) => void {
  let used = new Set<string>();
  let isWriting = false;
  const writeAll = async (): Promise<void> => {
    isWriting = true;
    const ids = [...used];
    used = new Set();
    try {
      await write(ids);
    } catch (error) {
      // The next use of the credential tries again.
      log.warn({ err: error }, `the use of ${what} could not be noted`);
    } finally {
      isWriting = false;
      // Uses that were noted during the write.
      if (used.size > 0) setImmediate(() => void writeAll());
    }
  };
  return (id) => {
    // One statement at a time: a busy database gets no queue of notes.
    if (used.size === 0 && !isWriting) setImmediate(() => void writeAll());
    used.add(id);
  };
}
