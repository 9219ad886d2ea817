// Gives libuv a thread for each password that a process hashes at once, besides the four of its own for files and DNS: with
// more than five cores, four threads would be the limit of sign-ins. Imported before anything that uses the pool.
// It must stay plain JavaScript that Node 18 parses. An operator's own UV_THREADPOOL_SIZE counts. An empty one is none, as
// with every setting; libuv would take it for one thread.
import os from 'node:os';

// As many as the hasher takes: src/platform/security/password-hasher.ts.
const hashing = Math.max(1, (os.availableParallelism?.() ?? os.cpus().length) - 1);
process.env.UV_THREADPOOL_SIZE ||= String(4 + hashing);
