// The worker thread of phpass.ts: it computes one digest, sends it and ends.
// It must not be imported.
import { hash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import type { PhpassWork } from './phpass.ts';

const { password, salt, iterations }: PhpassWork = workerData;
let digest = hash('md5', Buffer.concat([salt, password]), 'buffer');
const next = Buffer.alloc(digest.length + password.length);
next.set(password, digest.length);
for (let round = 0; round < iterations; round += 1) {
  next.set(digest);
  digest = hash('md5', next, 'buffer');
}
parentPort?.postMessage(digest);
