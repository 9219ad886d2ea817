// Writes the metrics as the text of Prometheus. Only this file loads prom-client, and it is loaded only if METRICS_ADDRESS
// is set.
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { Exposition } from '../platform/metrics/server.ts';
import type { Definition, Sample, Snapshot } from './definition.ts';
import { definitions } from './definitions.ts';

/** Returns a function that writes every metric. It calls `snapshot` once for each text. */
export function createExporter(snapshot: () => Promise<Snapshot>): () => Promise<Exposition> {
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  return async () => {
    const now = await snapshot();
    // A registry for each text, so that two scrapes at once do not mix their samples.
    const ours = new Registry();
    for (const definition of definitions) ours.registerMetric(metricOf(definition, now));
    return {
      contentType: ours.contentType,
      text: `${await ours.metrics()}\n${await ofProcess.metrics()}`,
    };
  };
}

type Value = Sample & { metricName?: string };

/**
 * Returns what a registry writes. The classes of prom-client would copy each number into a map of labels, and their
 * histogram takes no numbers that were counted elsewhere.
 */
function metricOf(definition: Definition, snapshot: Snapshot): Metric {
  const { name, help, type } = definition;
  const values = type === 'histogram' ? histogramValues(definition, snapshot) : definition.read(snapshot);
  return { name, help, type, get: async () => ({ name, help, type, values }) } as unknown as Metric;
}

function histogramValues(
  { name, read }: Extract<Definition, { type: 'histogram' }>,
  snapshot: Snapshot,
): Value[] {
  return read(snapshot).flatMap(({ labels, histogram }) => {
    let count = 0;
    const buckets = histogram.counts.map((added, index): Value => {
      count += added;
      const le = String(histogram.bounds[index] ?? '+Inf');
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: histogram.sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
}
