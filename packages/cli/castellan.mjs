#!/usr/bin/env node
// The program `castellan`: checks the Node version before it loads code that an older Node cannot parse.
import '@castellan/server/no-debugger';
import '@castellan/server/thread-pool';
import { fileURLToPath } from 'node:url';
import { isNodeNewEnough } from '@castellan/server/node-version';
import { runOnInstalledNode } from './own-node.mjs';

if (isNodeNewEnough || !runOnInstalledNode(fileURLToPath(import.meta.url))) {
  await import('@castellan/server/check-node');
  const { loadProgram } = await import('@castellan/server/program');
  const { main } = await loadProgram('castellan', () => import('./src/main.ts'));
  await main();
}
