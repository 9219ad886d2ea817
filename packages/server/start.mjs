// `npm start`: checks the runtime before anything that an older one cannot even parse, then starts the service.
import './check-node.mjs';
import './thread-pool.mjs';
import './bundles.mjs';
import module from 'node:module';

module.enableCompileCache?.();
const { serve } = await import('./src/main.ts');
await serve();
