// `npm start`: checks the runtime before anything that an older one cannot even parse, then starts the service.
import './check-node.mjs';
import './thread-pool.mjs';
import { loadProgram } from './program.mjs';

const { serve } = await loadProgram('server', () => import('./src/main.ts'));
await serve();
