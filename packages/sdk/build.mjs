// Compiles the SDK from nothing into dist/, or into the folder given as argument. `npm run build` in the root calls it.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const folder = fileURLToPath(new URL('.', import.meta.url));
const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
const [output = join(folder, 'dist')] = process.argv.slice(2);
rmSync(output, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [join(modules, 'typescript/bin/tsc'), '-p', join(folder, 'tsconfig.build.json'), '--outDir', output],
  { stdio: 'inherit' },
);
await bundleLibrary('passkeys/webauthn', '@simplewebauthn/browser');

/** Replaces a compiled file that exports parts of a library by one that contains them, with the licence of the library. */
async function bundleLibrary(file, library) {
  const bundle = await rolldown({
    input: join(folder, 'src', `${file}.ts`),
    platform: 'browser',
    cwd: folder,
  });
  const { output: chunks } = await bundle.generate({ format: 'es' });
  await bundle.close();
  const licence = readFileSync(join(modules, library, 'LICENSE.md'), 'utf8').trim();
  const { version } = JSON.parse(readFileSync(join(modules, library, 'package.json'), 'utf8'));
  // The regions that the bundler marks are paths of this machine.
  const code = chunks[0].code.replaceAll(/^\/\/#(?:end)?region.*\n/gm, '');
  const target = resolve(output, file);
  writeFileSync(`${target}.js`, `/*! ${library} ${version}\n\n${licence}\n*/\n${code}`);
  // Nothing that the package declares needs the types of the library.
  writeFileSync(`${target}.d.ts`, 'export {};\n');
}
