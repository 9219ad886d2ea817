// Starts /metrics for an instance. Nothing here runs, and prom-client is not loaded, unless METRICS_ADDRESS is set.
import type { Server } from 'node:http';
import { promisify } from 'node:util';
import type { Deps } from '../deps.ts';
import type { Scheduler } from '../platform/jobs/scheduler.ts';
import { describeAddress } from '../platform/metrics/address.ts';
import { type MetricsServer, serveMetrics } from '../platform/metrics/server.ts';
import { createFigureSource } from './figures.ts';

/** Resolves when the address is listened on; null if metrics are off. Rejects with a message for the operator. */
export async function startMetrics(parts: {
  deps: Deps;
  scheduler: Scheduler;
  server: Server;
}): Promise<MetricsServer | null> {
  const { deps, scheduler, server } = parts;
  const { tallies, settings } = deps;
  if (!tallies || !settings.metricsAddress) return null;
  const { createExporter } = await import('./exporter.ts');
  const figures = createFigureSource(deps.reservedDb, deps.log);
  const countConnections = promisify(server.getConnections.bind(server));
  const expose = createExporter(async () => ({
    deps,
    tallies,
    jobs: scheduler.stats(),
    connections: await countConnections(),
    figures: deps.readiness.ready ? await figures() : null,
  }));
  try {
    return await serveMetrics(settings.metricsAddress, { expose, log: deps.log });
  } catch (error) {
    const where = describeAddress(settings.metricsAddress);
    throw new Error(
      `METRICS_ADDRESS ${where} cannot be listened on. Set it to a free address of this machine, or to a socket in a folder that this user can write.`,
      { cause: error },
    );
  }
}
