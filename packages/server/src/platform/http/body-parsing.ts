// Reads request bodies: JSON in UTF-8, as it is, or none. Everything else is refused before a handler sees it.
// It must not judge what the JSON says.
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';

export function acceptJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    // Many clients name the content type also where they send nothing. An empty body counts as none: validation
    // then refuses it where one is needed.
    if (bytes.length === 0) done(null, null);
    // Decoding would replace what is no UTF-8, and make one password out of several.
    else if (isUtf8(bytes)) parseJson(request, bytes.toString(), done);
    else done(new AppError('malformed_json'));
  });
  // Unpacking would let a small body become a large one.
  app.addHook('preParsing', async (request) => {
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity')
      throw new AppError('unsupported_media_type', {
        detail: 'Send the body without Content-Encoding.',
        headers: { 'accept-encoding': 'identity' },
      });
  });
}
