// Shows how far a backup or a restore is, at a terminal only. A log or a pipe gets nothing.
import type { Progress } from '@castellan/server/modules/backup/service';

export type ProgressBar = { report(progress: Progress): void; clear(): void };

const CELLS = 30;
const REDRAW_MS = 100;

export function progressBar(
  terminal: { isTTY?: boolean; write(text: string): unknown },
  now: () => number = () => performance.now(),
): ProgressBar {
  if (!terminal.isTTY) return { report: () => undefined, clear: () => undefined };
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    report({ table, done, total }) {
      if (now() - drawnAt < REDRAW_MS) return;
      drawnAt = now();
      // The total may be an estimate: the end is reached when the command says so.
      const part = total > 0 ? Math.min(done / total, 0.99) : 0;
      const full = Math.floor(part * CELLS);
      const bar = '#'.repeat(full) + '-'.repeat(CELLS - full);
      terminal.write(`\r\u001b[K[${bar}] ${String(Math.floor(part * 100)).padStart(2)} %  ${table}`);
    },
    clear() {
      if (drawnAt !== Number.NEGATIVE_INFINITY) terminal.write('\r\u001b[K');
    },
  };
}
