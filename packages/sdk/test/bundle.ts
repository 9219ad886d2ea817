// Bundles the client as an app would.
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const ENTRY = 'entry';
const source = fileURLToPath(new URL('../src/index.ts', import.meta.url));

/** Returns a minified script that sets `createClient` of the global `castellan`. */
export async function bundleClient(): Promise<string> {
  const bundle = await rolldown({
    input: ENTRY,
    platform: 'browser',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === ENTRY ? id : null),
        load: (id) => (id === ENTRY ? `export { createClient } from ${JSON.stringify(source)};` : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'iife', name: 'castellan', minify: true });
  await bundle.close();
  return output[0].code;
}
