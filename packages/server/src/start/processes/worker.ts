// A worker's side of the connection to its supervisor: who it is, when it stops, and what it reports.
// It must not outlive the supervisor.
import { url as inspectorUrl } from 'node:inspector';

/** Environment variable that the supervisor sets: `first` for the worker that prepares and announces the instance. */
export const WORKER_VARIABLE = 'CASTELLAN_WORKER';
export type WorkerKind = 'first' | 'later';

/** What a worker tells the supervisor when it serves requests. */
export type WorkerReport = { ready: true; port: number };
/** What a worker tells the supervisor as long as its event loop turns. */
export type Beat = { beat: true };
/** What the supervisor tells each worker. */
export type StopOrder = { stop: true; graceSeconds: number };
export type BeatOrder = { beatMs: number };

export const isWorkerReport = (message: unknown): message is WorkerReport =>
  typeof message === 'object' && message !== null && 'ready' in message && 'port' in message;

export const isBeat = (message: unknown): message is Beat =>
  typeof message === 'object' && message !== null && 'beat' in message;

const isBeatOrder = (message: unknown): message is BeatOrder =>
  typeof message === 'object' &&
  message !== null &&
  'beatMs' in message &&
  typeof message.beatMs === 'number';

const isStopOrder = (message: unknown): message is StopOrder =>
  typeof message === 'object' && message !== null && 'stop' in message && 'graceSeconds' in message;

/** Returns which worker this process is; undefined if it is none. */
export function workerKind(
  environment: Readonly<Record<string, string | undefined>>,
): WorkerKind | undefined {
  const kind = environment[WORKER_VARIABLE];
  return process.connected && (kind === 'first' || kind === 'later') ? kind : undefined;
}

/** Calls `stop` when the supervisor orders it, and without a grace period when the supervisor is gone. */
export function stopOnOrder(stop: (graceSeconds: number) => void): void {
  // Ctrl-C and some process managers signal the whole group. The supervisor decides.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('message', (message) => {
    if (isStopOrder(message)) stop(message.graceSeconds);
  });
  process.on('disconnect', () => stop(0));
}

/** Tells the supervisor that this worker serves requests at `url`, then that it is alive, as often as it is ordered to. */
export function reportReady(url: string): void {
  process.on('message', (message) => {
    if (isBeatOrder(message)) beat(message.beatMs);
  });
  const { protocol, port } = new URL(url);
  const report: WorkerReport = { ready: true, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
  if (process.connected) process.send?.(report);
}

/** Beats now and `beatMs` after each beat has been sent, so that none queue up for a supervisor that does not read. */
function beat(beatMs: number): void {
  // A debugger stops the event loop as long as somebody looks at it. Without a beat, the supervisor does not judge.
  if (inspectorUrl() !== undefined || !process.connected) return;
  const message: Beat = { beat: true };
  process.send?.(message, () => setTimeout(beat, beatMs, beatMs).unref());
}
