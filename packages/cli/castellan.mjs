#!/usr/bin/env node
// The program `castellan`: checks the runtime before anything that an older one cannot even parse, then runs a command.
import '@castellan/server/check-node';
import module from 'node:module';

module.enableCompileCache?.();
const { main } = await import('./src/main.ts');
await main();
