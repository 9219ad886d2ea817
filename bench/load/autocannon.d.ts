// The types of the part of autocannon 9 that the benchmarks use; the package has none.
declare module 'autocannon' {
  export type Request = {
    method?: 'GET' | 'POST' | 'PUT';
    path?: string;
    headers?: Record<string, string>;
    body?: string;
  };
  export type Client = { setRequests(requests: Request[]): void };
  export type Options = {
    url: string;
    connections: number;
    /** Seconds. */
    duration: number;
    setupClient?: (client: Client) => void;
  };
  export type Result = {
    /** Seconds that the run really took. */
    duration: number;
    '2xx': number;
    non2xx: number;
    errors: number;
    latency: { p50: number; p99: number };
  };
  export default function autocannon(options: Options): Promise<Result>;
}
