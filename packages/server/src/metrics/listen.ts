// Listens on METRICS_ADDRESS. It must not load the application, because the supervisor of workers does not.
import type { Logger } from '../platform/log.ts';
import { describeAddress, type MetricsAddress } from '../platform/metrics/address.ts';
import { type Exposition, type MetricsServer, serveMetrics } from '../platform/metrics/server.ts';
import { errorMessage } from '../platform/unknown-values.ts';

/** Rejects with a message for the operator. */
export async function listenForScrapes(
  address: MetricsAddress,
  options: { expose: () => Promise<Exposition>; log: Logger },
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
