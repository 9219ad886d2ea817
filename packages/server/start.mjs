// `npm start`: checks the runtime before anything that an older one cannot even parse, then starts the service.
// With --sources it does not load the bundle, so that `node --watch` knows the files.
import './no-debugger.mjs';
import './check-node.mjs';
import './thread-pool.mjs';
import { loadProgram } from './program.mjs';

const { serve } = await loadProgram('server', () => import('./src/main.ts'), {
  isBundled: process.argv[2] !== '--sources',
});
await serve();
