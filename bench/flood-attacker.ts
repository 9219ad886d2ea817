// The attacker of floods.ts, in a separate process: closed loops on some connections for a given time.
// It must not measure the other users.
import autocannon, { type Request } from 'autocannon';

export type Attack = { url: string; connections: number; seconds: number; requests: Request[] };
/** Answers per second: successes and refusals. */
export type AttackRate = { served: number; refused: number };

process.once('message', async ({ requests, seconds, ...target }: Attack) => {
  // Each connection begins with another request.
  let begin = 0;
  const setupClient = (client: { setRequests(requests: Request[]): void }): void => {
    client.setRequests([...requests.slice(begin), ...requests.slice(0, begin)]);
    begin = (begin + 1) % requests.length;
  };
  const result = await autocannon({ ...target, duration: seconds, setupClient });
  const rate: AttackRate = {
    served: result['2xx'] / result.duration,
    refused: result.non2xx / result.duration,
  };
  process.send?.(rate, () => process.disconnect());
});
