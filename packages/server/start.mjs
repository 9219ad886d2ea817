// Checks the runtime before anything that an older one cannot even parse, then starts the service.
import { enableCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `Castellan needs Node 22.18 or later; this is ${process.versions.node}. \`npm ci\` brings a fitting one for the npm scripts: run \`npm start\`, and do not leave out optional dependencies.\n`,
  );
  process.exit(1);
}
enableCompileCache?.();
// Password hashing takes at most all cores but one of the thread pool (password-hasher.ts); files and name look-ups
// need threads of their own. Read once, at the pool's first use.
process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism() + 1));
const { serve } = await import('./src/main.ts');
await serve();
