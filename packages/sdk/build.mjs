// Compiles the SDK into dist/, from nothing. `npm run build` in the root calls it.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
rmSync(`${folder}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', `${folder}tsconfig.build.json`], { stdio: 'inherit' });
