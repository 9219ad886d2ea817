// Writes metrics as the text of Prometheus, of one process or of several workers. It must not load the application.
import { type Metric, Registry } from 'prom-client';
import type { Exposition } from '../platform/metrics/server.ts';

/** A metric with its samples, as prom-client has it and as it crosses to another process. */
export type Collected = {
  name: string;
  help: string;
  type: string;
  values: { value: number; labels: Record<string, string | number | undefined>; metricName?: string }[];
};

export async function writeMetrics(collected: readonly Collected[]): Promise<Exposition> {
  const registry = new Registry();
  // The classes of prom-client would copy each number into a map of labels, and its histogram takes no numbers that were
  // counted elsewhere. A registry needs only this of a metric.
  for (const one of collected) registry.registerMetric({ ...one, get: async () => one } as unknown as Metric);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

/** Joins the metrics of workers: each sample gets the label `worker`. */
export function joinWorkers(ofWorkers: readonly (readonly [worker: string, Collected[]])[]): Collected[] {
  const joined = new Map<string, Collected>();
  for (const [worker, collected] of ofWorkers)
    for (const { values, ...about } of collected) {
      const all = joined.get(about.name) ?? { ...about, values: [] };
      joined.set(about.name, all);
      for (const one of values) all.values.push({ ...one, labels: { ...one.labels, worker } });
    }
  return [...joined.values()];
}
