// Listens on METRICS_ADDRESS. It must not load the application, because the supervisor of workers does not.
import { describeAddress, type MetricsAddress } from '../platform/metrics/address.ts';
import { type MetricsOptions, type MetricsServer, serveMetrics } from '../platform/metrics/server.ts';
import { errorMessage } from '../platform/unknown-values.ts';

/** Returns the names that the operator has given this service. */
export const metricsHosts = (settings: { publicUrl: string; metricsHosts: readonly string[] }): string[] => [
  new URL(settings.publicUrl).hostname.replace(/\.$/, ''),
  ...settings.metricsHosts,
];

/** Rejects with a message for the operator. */
export async function listenForScrapes(
  address: MetricsAddress,
  options: MetricsOptions,
): Promise<MetricsServer> {
  try {
    return await serveMetrics(address, options);
  } catch (error) {
    throw new Error(
      `METRICS_ADDRESS ${describeAddress(address)} cannot be listened on. Set it to a free address of this machine, or to a socket in a folder that this user can write. (${errorMessage(error)})`,
      { cause: error },
    );
  }
}
