// Collects the samples of every metric. Loaded only if METRICS_ADDRESS is set.
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Definition, Sample, Snapshot } from './definition.ts';
import { definitions } from './definitions.ts';
import type { Collected } from './text.ts';

/** Returns a function that collects every metric. It calls `snapshot` once each time. */
export function createCollector(snapshot: () => Promise<Snapshot>): () => Promise<Collected[]> {
  const ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  return async () => {
    const now = await snapshot();
    const own = definitions.map((definition) => {
      const { name, help, type } = definition;
      const values = type === 'histogram' ? histogramValues(definition, now) : definition.read(now);
      return { name, help, type, values };
    });
    // Its type of `type` is an enum, and its values are names.
    const others = (await ofProcess.getMetricsAsJSON()) as unknown as Collected[];
    return [...own, ...others];
  };
}

type Value = Sample & { metricName?: string };

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
