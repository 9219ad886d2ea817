// Makes the files that packages/server/bundles.mjs loads: at installation, and before tests. It must never fail an
// installation: without the files, the service starts more slowly.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('../../packages/server', import.meta.url));

/** Makes the files unless they are there. Rejects if the bundler is missing, as after `npm ci --omit=dev`. */
export async function bundleDependencies() {
  // Not at the top: it needs dependencies that an incomplete installation lacks.
  const { bundledModules, bundleFolder } = await import('../../packages/server/bundles.mjs');
  const folder = fileURLToPath(bundleFolder);
  if (existsSync(folder)) return;
  const { rolldown } = await import('rolldown');
  const unfinished = `${folder.replace(/\/$/, '')}.${process.pid}`;
  const input = Object.fromEntries(bundledModules.map((name) => [name.replace('/', '-'), name]));
  try {
    const bundle = await rolldown({ input, cwd: server, platform: 'node', treeshake: false });
    await bundle.write({
      dir: unfinished,
      format: 'esm',
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name].mjs',
    });
    await bundle.close();
    renameSync(unfinished, folder);
  } catch (error) {
    // Two processes may do this at once; the results are the same.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundleDependencies().then(
    () => process.stdout.write('The dependencies are bundled.\n'),
    (error) =>
      process.stdout.write(`The dependencies are not bundled, so starts are slower: ${error.message}\n`),
  );
}
