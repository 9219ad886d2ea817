// How the console is built: two entries, and files that obey the service's Content-Security-Policy.
// It must not inline scripts, fonts or images: the policy allows files of our origin only.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite';
import { loginFrame } from './src/auth/login-frame.ts';
import { de } from './src/auth/messages/de/index.ts';
import { en } from './src/auth/messages/en/index.ts';
import { languages } from './src/common/languages.ts';
import { authPaths } from './src/common/paths.ts';

/** What a list shows first. Its dialogs, panes and pickers load after it. */
const list = new RegExp(
  [
    'console/src/app/components/(table/|lists/(FilterFold|Pager|debounce|filter-chips)|text/time)',
    'console/src/app/components/page/page-actions',
    'console/src/app/pages/users/(columns|data|rules|ActionButton|bulk/BulkBar)',
    '@mantine/core/esm/components/(ActionIcon|CloseButton|NativeSelect|TextInput|Tooltip)/',
    'Icon(UserOff|UserCheck|UserEdit|Users|Search|Columns3|X|Shield|Trash|LockOpen|DeviceLaptop|ChevronDown|Plus|Eraser|UserShare).mjs',
  ].join('|'),
);
/**
 * What at least so many files of the build need is joined for several pages. Of 26 pages, each loads on average, opened first, 257.4 KiB
 * in 16.7 files with 8, 256.4 in 17.9 with 10, 251.9 in 18.4 with 12, and 251.3 in 18.9 with 14.
 */
const SHARED_BY = 12;
const library = /node_modules\/(@mantine|@tanstack|@tabler|@floating-ui)\//;

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The service that the development server passes requests to. */
const { CASTELLAN_URL: serviceUrl = 'http://127.0.0.1:8000' } = process.env;

/** While developing, serves the entries at the addresses at which the service serves them. */
const cleanUrls: Plugin = {
  name: 'clean-urls',
  configureServer({ middlewares }) {
    middlewares.use((request, _response, next) => {
      const [path = ''] = (request.url ?? '').split('?');
      const isPage = request.headers.accept?.includes('text/html') && !path.includes('.');
      if (isPage) request.url = authPaths.includes(path) ? '/auth.html' : '/app.html';
      next();
    });
  },
  transformIndexHtml: {
    order: 'post',
    // In production, the service fills these in.
    handler: (html, { server }) =>
      server
        ? html
            .replaceAll('{{service_name}}', 'Castellan')
            .replace('{{page_settings}}', '{}')
            .replace('./', '/')
        : html,
  },
};

/** Marks the copy of a component that the app renders with React and the light pages with Preact. */
const COPY = '?light';
const isLight = (importer: string): boolean =>
  /console\/src\/auth\//.test(importer) || importer.endsWith(COPY);

/** Renders the pages of signed-out people with Preact: React alone is four fifths of what they would load. */
const lightPages: Plugin = {
  name: 'light-pages',
  enforce: 'pre',
  async resolveId(source, importer = '', options) {
    if (!isLight(importer)) return null;
    const react = /^react(?:-dom)?(\/.+)?$/.exec(source);
    const wanted = react ? `preact/compat${react[1] ?? ''}` : source;
    if (!react && !source.endsWith('.tsx')) return null;
    const found = await this.resolve(wanted, importer, { ...options, skipSelf: true });
    return found && /src\/common\/\w+\.tsx$/.test(found.id) ? { ...found, id: found.id + COPY } : found;
  },
};

/** What runs before the app has loaded. */
const EARLY = 'src/app/early.ts';
/** What nearly everybody's first page needs, and asks for only when its first file runs. */
const AUTH_TEXTS = 'src/auth/messages/en/index.ts';

/** Makes browsers load, before all other scripts, what would otherwise wait for them. */
const loadedFirst: Plugin = {
  name: 'loaded-first',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { filename, bundle, server }) => {
      const isApp = filename.endsWith('app.html');
      const source = isApp ? EARLY : AUTH_TEXTS;
      const chunk = Object.values(bundle ?? {})
        .filter((one) => one.type === 'chunk')
        .find(({ facadeModuleId }) => facadeModuleId === pathOf(source));
      if (!chunk && !server) throw new Error(`The build has no ${source}.`);
      const tag = (name: string, attrs: Record<string, string | boolean>): HtmlTagDescriptor => ({
        tag: name,
        attrs: { ...attrs, crossorigin: true },
        injectTo: 'head-prepend',
      });
      const preload = (file: string) => tag('link', { rel: 'modulepreload', href: `./${file}` });
      const imports = (chunk?.imports ?? []).map(preload);
      if (!isApp) return chunk ? [preload(chunk.fileName), ...imports] : [];
      const src = chunk ? `./${chunk.fileName}` : `/${EARLY}`;
      // As soon as it is there: other modules wait for the style sheets.
      return [tag('script', { type: 'module', async: true, src }), ...imports];
    },
  },
};

/** Shows the sign-in page before its scripts have loaded: its style sheets come first, and its frame is in the page. */
const paintedFirst: Plugin = {
  name: 'painted-first',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (html, { filename }) => {
      if (!filename.endsWith('auth.html')) return html;
      const styles = html.match(/ *<link rel="stylesheet"[^>]*>\n/g) ?? [];
      const rest = styles.reduce((page, style) => page.replace(style, ''), html);
      const frames = loginFrame('en', en, languages) + loginFrame('de', de, languages);
      const root = '<div id="root"></div>';
      if (!rest.includes(root)) throw new Error(`auth.html has no ${root}.`);
      return rest
        .replace('<head>\n', `<head>\n${styles.join('')}`)
        .replace(root, `<div id="root">{{#login}}${frames}{{/login}}</div>`);
    },
  },
};

export default defineConfig(({ command }) => ({
  // Relative, so that the service can serve it below any path.
  base: './',
  plugins: [
    react({ refreshExclude: [/node_modules/, /src\/auth\//] }),
    lightPages,
    cleanUrls,
    loadedFirst,
    paintedFirst,
  ],
  // Drops React's hooks for its developer tools, which the pages of production do not need.
  define: command === 'build' ? { __REACT_DEVTOOLS_GLOBAL_HOOK__: 'undefined' } : {},
  resolve: {
    alias: {
      '@castellan/sdk/acting': pathOf('../sdk/src/acting.ts'),
      '@castellan/sdk/react': pathOf('../sdk/src/react.tsx'),
      '@castellan/sdk': pathOf('../sdk/src/index.ts'),
    },
  },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
    rolldownOptions: {
      input: { app: pathOf('app.html'), auth: pathOf('auth.html'), early: pathOf(EARLY) },
      output: {
        // In few files it compresses better and loads in fewer turns. What comes first takes the modules that it needs.
        codeSplitting: {
          groups: [
            {
              name: 'common',
              test: /rolldown|preload-helper|packages\/sdk\/src\/(?!acting|react)|src\/common\/(?!client|own-writes|recent-requests|save-blob)(acting\/storage|[\w-]+)\.ts$/,
            },
            // With `common`, all that runs before the app has loaded.
            {
              name: 'start',
              test: /src\/(acting|common\/(acting\/acting|client|own-writes|recent-requests)|app\/(data\/(auth|early-reads)|page-size|pages|search|text))\.ts$/,
            },
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: 'ui', test: library, tags: ['$initial'] },
            {
              name: 'app',
              test: /packages\/(sdk\/src\/react|console\/src\/app\/(?!early|main))/,
              tags: ['$initial'],
            },
            { name: 'list', test: list },
            { name: 'widgets', test: library, minShareCount: SHARED_BY },
            { name: 'parts', test: /console\/src\/app\/(components|data|shell)\//, minShareCount: SHARED_BY },
            // What every page of signed-out people needs: its entry loads all of it.
            {
              name: 'light',
              test: /node_modules\/preact\/|console\/src\/auth\/((client|next|text|token|work)|interaction\/address|sign-in\/waiting)\.tsx?$/,
            },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ['/api/', '/.well-known', '/docs', '/health', '/brand'].map((path) => [
        path,
        { target: serviceUrl, secure: false },
      ]),
    ),
  },
}));
