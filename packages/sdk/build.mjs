// Compiles the SDK from nothing into dist/, or into the folder given as argument. `npm run build` in the root calls it.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const [output = `${folder}dist`] = process.argv.slice(2);
rmSync(output, { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', `${folder}tsconfig.build.json`, '--outDir', output], {
  stdio: 'inherit',
});
