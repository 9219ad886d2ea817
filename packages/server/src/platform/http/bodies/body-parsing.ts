// Parses request bodies. Only uncompressed JSON in UTF-8 is accepted; anything else is refused before the handler runs.
// It must not validate the content.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { publicBody } from './body-limits.ts';
import { refuseLargeJson } from './json-size.ts';

type Done = (error: Error | null, body?: unknown) => void;

/** RFC 7396. Every PATCH is one. */
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';

export function acceptJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(MERGE_PATCH_TYPE, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (request.method === 'PATCH') parse(request, bytes, done);
    else done(new AppError('unsupported_media_type'));
  });
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parse);
  function parse(request: FastifyRequest, bytes: Buffer, done: Done): void {
    // Many clients send the content type even without a body. An empty body counts as none; validation refuses it if
    // the route requires one.
    if (bytes.length === 0) done(null, null);
    // Decoding would replace invalid UTF-8, so that several passwords would become the same one.
    else if (isUtf8(bytes)) {
      // Fastify passes what is thrown here to the error handler.
      refuseLargeJson(bytes, request.routeOptions.config.body?.values ?? publicBody.values);
      parseJson(request, bytes.toString(), done);
    } else done(new AppError('malformed_json'));
  }
  // Decompression would let a small body become a large one.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const coding = request.routeOptions.config.anyMethod ? undefined : request.headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity')
      throw new AppError('unsupported_media_type', {
        detail: 'Content-Encoding is not supported. Send the body without it.',
        headers: { 'accept-encoding': 'identity' },
      });
    done();
  });
}
