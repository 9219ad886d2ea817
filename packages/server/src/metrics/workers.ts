// The metrics of an instance of several workers: the supervisor listens, and asks each worker at a scrape.
// It must not load the application, because the supervisor does not.
import type { ChildProcess } from 'node:child_process';
import type { Exposition } from '../platform/metrics/server.ts';
import { isObject } from '../platform/unknown-values.ts';
import type { Collected } from './text.ts';

type Question = { collectMetrics: number };
type Answer = { metricsOf: number; collected: Collected[] };

const isQuestion = (message: unknown): message is Question =>
  isObject(message) && typeof message.collectMetrics === 'number';
const isAnswer = (message: unknown): message is Answer =>
  isObject(message) && typeof message.metricsOf === 'number' && Array.isArray(message.collected);

/** Longer than a worker waits for the database; Prometheus waits 10 s for a scrape. */
const MAX_WAIT_MS = 5_000;

/** A worker's side: answers the supervisor. Returns a function that ends it. */
export function answerSupervisor(
  collect: () => Promise<Collected[]>,
  onError: (error: unknown) => void,
): () => void {
  const onMessage = (message: unknown): void => {
    if (!isQuestion(message)) return;
    collect().then((collected) => {
      const answer: Answer = { metricsOf: message.collectMetrics, collected };
      if (process.connected) process.send?.(answer);
    }, onError);
  };
  process.on('message', onMessage);
  return () => process.off('message', onMessage);
}

let questions = 0;

/** Returns the metrics of a worker; null if it does not answer. */
function ask(worker: ChildProcess): Promise<Collected[] | null> {
  if (!worker.connected) return Promise.resolve(null);
  questions += 1;
  const question: Question = { collectMetrics: questions };
  return new Promise((resolve) => {
    const end = (collected: Collected[] | null): void => {
      clearTimeout(late);
      worker.off('message', onMessage).off('exit', onExit);
      resolve(collected);
    };
    const onMessage = (message: unknown): void => {
      if (isAnswer(message) && message.metricsOf === question.collectMetrics) end(message.collected);
    };
    const onExit = (): void => end(null);
    const late = setTimeout(end, MAX_WAIT_MS, null);
    worker.on('message', onMessage).once('exit', onExit);
    worker.send(question, (error) => {
      if (error) end(null);
    });
  });
}

/** Returns a function that writes the metrics of all workers, each with its number as the label `worker`. */
export function createJointExposition(
  workers: () => readonly (readonly [number: string, ChildProcess])[],
): () => Promise<Exposition> {
  async function write(): Promise<Exposition> {
    const { joinWorkers, writeMetrics } = await import('./text.ts');
    const answers = await Promise.all(
      workers().map(async ([number, worker]) => [number, await ask(worker)] as const),
    );
    return writeMetrics(
      joinWorkers(
        answers.flatMap(([number, collected]) => (collected ? [[number, collected] as const] : [])),
      ),
    );
  }
  // Scrapes at once share one.
  let writing: Promise<Exposition> | undefined;
  return () => {
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  };
}
