// The script of the API reference viewer, as the package @scalar/fastify-api-reference serves it.
// It must not be loaded before someone opens the reference: it is 4 MB.
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import Fastify from 'fastify';
import { tagOf } from '../platform/http/answers/static-text.ts';

type Tagged = { body: Buffer; etag: string };
export type Viewer = { script: Tagged; gzipped: Tagged };

const ROUTE = '/viewer';
let loaded: Promise<Viewer> | undefined;

/**
 * Loads the script once for all instances of the process. Rejects when the package is damaged; the next call tries
 * again.
 */
export function loadViewer(): Promise<Viewer> {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

const tagged = (body: Buffer): Tagged => ({ body, etag: tagOf(body) });

async function load(): Promise<Viewer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const app = Fastify();
  try {
    await app.register(scalar, { routePrefix: ROUTE, configuration: { url: '/unused' } });
    const { statusCode, rawPayload } = await app.inject(`${ROUTE}/js/scalar.js`);
    if (statusCode !== 200) throw new Error(`the reference viewer answered ${statusCode}`);
    return { script: tagged(rawPayload), gzipped: tagged(await promisify(gzip)(rawPayload)) };
  } finally {
    await app.close();
  }
}
