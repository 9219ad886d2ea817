// A worker without a service: it is ready, and tells when it has had time to beat. Its test is workers.test.ts.
// It must not beat by itself.
import { setTimeout as wait } from 'node:timers/promises';
import { reportReady } from '../../src/start/processes/worker.ts';

process.once('message', async () => {
  // Timers run in order, so this ends after many beats of 1 ms.
  await wait(100);
  process.send?.('had time', () => process.disconnect());
});
reportReady('http://127.0.0.1:8000');
