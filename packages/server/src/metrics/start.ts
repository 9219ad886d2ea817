// Starts the metrics of a process. Nothing here runs, and prom-client is not loaded, unless METRICS_ADDRESS is set.
import type { Server } from 'node:http';
import { promisify } from 'node:util';
import type { Deps } from '../deps.ts';
import type { Scheduler } from '../platform/jobs/scheduler.ts';
import { createFigureSource } from './figures.ts';
import { listenForScrapes, metricsHosts } from './listen.ts';
import { answerSupervisor } from './workers.ts';

type Parts = {
  deps: Deps;
  scheduler: Scheduler;
  server: Server;
  /** Whether the supervisor listens for all workers. */
  isWorker: boolean;
};

/** Returns a function that ends it; null if metrics are off. Rejects with a message for the operator. */
export async function startMetrics({
  deps,
  scheduler,
  server,
  isWorker,
}: Parts): Promise<(() => Promise<void>) | null> {
  const { tallies, settings, log } = deps;
  if (!tallies || !settings.metricsAddress) return null;
  const [{ createCollector }, { writeMetrics }] = await Promise.all([
    import('./exporter.ts'),
    import('./text.ts'),
  ]);
  const figures = createFigureSource(deps.reservedDb, log);
  const countConnections = promisify(server.getConnections.bind(server));
  const collect = createCollector(async () => ({
    deps,
    tallies,
    jobs: scheduler.stats(),
    connections: await countConnections(),
    figures: deps.readiness.ready ? await figures() : null,
  }));
  if (isWorker) {
    const end = answerSupervisor(collect, (error) =>
      log.error({ err: error }, 'metrics could not be collected'),
    );
    return async () => end();
  }
  const listening = await listenForScrapes(settings.metricsAddress, {
    expose: async () => writeMetrics(await collect()),
    log,
    hosts: metricsHosts(settings),
  });
  return () => listening.close();
}
