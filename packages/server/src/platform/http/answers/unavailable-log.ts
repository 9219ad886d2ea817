// Logs requests that failed because something is unavailable, such as the database. An outage fails every request, and a
// line with a stack for each of them would fill the log. The access log has the id and the code of each.
import { errorCode, errorMessage } from '../../unknown-values.ts';

/** `warn`: what is unavailable belongs to somebody else. */
type Level = 'error' | 'warn';

/** Lines that requests log: each has the id of its request. */
type RequestLog = Record<Level, (fields: object, text: string) => void>;

// More causes than there are. Some messages of drivers contain an address.
const MAX_CAUSES = 16;

export type UnavailableLog = {
  /** Logs the first failure of a cause as it is, and counts those of the next `everyMs`. */
  failed(error: unknown, log: RequestLog, level: Level): void;
  /** Logs the numbers that were not logged yet, and forgets all causes. */
  flush(): void;
};

/**
 * Bounds the log to two lines for each cause in `everyMs` milliseconds. `log` gets the numbers of requests that were only
 * counted, after each `everyMs` with any.
 */
export function createUnavailableLog(log: RequestLog, everyMs = 60_000): UnavailableLog {
  const causes = new Map<string, { level: Level; requests: number; timer: NodeJS.Timeout }>();
  const tell = (cause: string, { level, requests }: { level: Level; requests: number }): void => {
    if (requests > 0) log[level]({ cause, requests }, 'more requests failed of one cause');
  };

  return {
    failed(error, requestLog, level) {
      const name = errorCode(error) ?? errorMessage(error);
      const cause = causes.has(name) || causes.size < MAX_CAUSES ? name : 'other';
      const known = causes.get(cause);
      if (known) {
        known.requests += 1;
        return;
      }
      requestLog[level]({ err: error }, 'request failed');
      const begun = {
        level,
        requests: 0,
        timer: setInterval(() => {
          tell(cause, begun);
          if (begun.requests === 0) {
            clearInterval(begun.timer);
            causes.delete(cause);
          }
          begun.requests = 0;
        }, everyMs).unref(),
      };
      causes.set(cause, begun);
    },
    flush() {
      for (const [cause, begun] of causes) {
        clearInterval(begun.timer);
        tell(cause, begun);
      }
      causes.clear();
    },
  };
}
