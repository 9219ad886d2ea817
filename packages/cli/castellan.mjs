#!/usr/bin/env node
// The program `castellan`: checks the Node version before it loads code that an older Node cannot parse.
import '@castellan/server/check-node';
import '@castellan/server/bundles';
import module from 'node:module';

module.enableCompileCache?.();
const { main } = await import('./src/main.ts');
await main();
