// Bundles parts of the SDK as an app would.
import { fileURLToPath } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';

const ENTRY = 'entry.tsx';
const source = fileURLToPath(new URL('../src/', import.meta.url));

export type Bundle = {
  code: string;
  /** The files of `src` that the code contains a part of. */
  files: string[];
  /** What the code imports when it runs. */
  imports: string[];
};

type Options = { external?: string[]; format?: 'es' | 'iife'; mode?: 'development' | 'production' };

/** Bundles and minifies a module. It imports files of the SDK as `sdk:index.ts`, and exports become the global `castellan`. */
export async function bundle(
  module: string,
  { external = [], format = 'iife', mode = 'production' }: Options = {},
): Promise<Bundle> {
  const building = await rolldown({
    input: ENTRY,
    platform: 'browser',
    external,
    transform: { define: { 'process.env.NODE_ENV': JSON.stringify(mode) } },
    plugins: [
      {
        name: 'entry',
        resolveId(id) {
          if (id === ENTRY) return fileURLToPath(new URL(ENTRY, import.meta.url));
          return id.startsWith('sdk:') ? `${source}${id.slice('sdk:'.length)}` : null;
        },
        load: (id) => (id.endsWith(`/${ENTRY}`) ? module : null),
      },
    ],
  });
  const { output } = await building.generate({ format, name: 'castellan', minify: true });
  await building.close();
  const [{ code, imports, modules }] = output;
  return { code, imports, files: filesOf(modules) };
}

const filesOf = (modules: OutputChunk['modules']): string[] =>
  Object.entries(modules)
    .filter(([path, { renderedLength }]) => path.startsWith(source) && renderedLength > 0)
    .map(([path]) => path.slice(source.length))
    .sort();

/** Returns a minified script that sets `createClient` of the global `castellan`. */
export async function bundleClient(): Promise<string> {
  return (await bundle(`export { createClient } from 'sdk:index.ts';`)).code;
}
