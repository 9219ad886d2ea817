// For sources (program.mjs): loads dependencies of hundreds of modules from one file each, which takes a tenth of their time.
// `npm ci` makes the files (scripts/bundle/dependencies.mjs); without them, everything is loaded as usual. It must stay plain
// JavaScript that the Node.js of npm runs.
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';

/** What is bundled: written as ES modules, without dependencies of their own. */
export const bundledModules = ['kysely', 'kysely/migration', 'typebox'];

/** The folder of the files. Its name has the installed versions, so that it is never out of date. */
export const bundleFolder = folderOfBundles();

function folderOfBundles() {
  const versions = ['kysely', 'typebox'].map((name) => {
    const [inside] = import.meta.resolve(name).split(`/node_modules/${name}/`);
    const manifest = new URL(`${inside}/node_modules/${name}/package.json`);
    return `${name}-${JSON.parse(readFileSync(manifest, 'utf8')).version}`;
  });
  return new URL(`../../node_modules/.cache/castellan/${versions.join('_')}/`, import.meta.url);
}

/** Returns the URL of the file for one of these modules. */
export const bundleOf = (name) => new URL(`${name.replace('/', '-')}.mjs`, bundleFolder).href;

if (existsSync(bundleFolder)) {
  const files = new Map(bundledModules.map((name) => [name, bundleOf(name)]));
  module.registerHooks?.({
    resolve(specifier, context, next) {
      const url = files.get(specifier);
      return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
    },
  });
}
