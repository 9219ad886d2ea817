// How the console is built: two entries, and files that obey the service's Content-Security-Policy.
// It must not inline scripts, fonts or images: the policy allows files of our origin only.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { authPaths } from './src/common/paths.ts';

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

export default defineConfig(({ command }) => ({
  // Relative, so that the service can serve it below any path.
  base: './',
  plugins: [react(), cleanUrls],
  // Drops React's hooks for its developer tools, which the pages of production do not need.
  define: command === 'build' ? { __REACT_DEVTOOLS_GLOBAL_HOOK__: 'undefined' } : {},
  resolve: {
    alias: {
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
      input: { app: pathOf('app.html'), auth: pathOf('auth.html') },
      output: {
        // What both entries use. In few files it compresses better.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\/|rolldown|preload-helper/ },
            {
              name: 'ui',
              test: /node_modules\/(@mantine|@tanstack|@tabler|@floating-ui)\//,
              minShareCount: 6,
            },
            { name: 'common', test: /packages\/sdk\/src\/(?!react)|src\/common\/[\w-]+\.ts$/ },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ['/api', '/.well-known', '/docs', '/health', '/brand'].map((path) => [path, { target: serviceUrl }]),
    ),
  },
}));
