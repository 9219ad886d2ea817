// Serves a folder of built files that have the hash of their content in their names, compressed beforehand.
// It must not serve a file that was not in the folder when the service started.
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { acceptsCoding, vary } from '../accept.ts';

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

const encodings = [
  { name: 'br', extension: '.br' },
  { name: 'gzip', extension: '.gz' },
] as const;

/** RFC 8246: the content of such a URL never changes. */
const FOREVER = 'public, max-age=31536000, immutable';

export type StaticFolder = {
  /** Sends the file. Throws `route_not_found` if the folder has none of that name. */
  send(request: FastifyRequest, reply: FastifyReply, name: string): FastifyReply;
};

/** Lists the folder now, and keeps each file in memory from its first request on. A missing folder is empty. */
export function openStaticFolder(folder: string): StaticFolder {
  const names = new Set(listOf(folder));
  const kept = new Map<string, Buffer>();
  const read = (name: string): Buffer => {
    const content = kept.get(name) ?? readPresent(join(folder, name));
    kept.set(name, content);
    return content;
  };
  return {
    send(request, reply, name) {
      const type = types[extname(name)];
      if (!names.has(name) || !type) throw new AppError('route_not_found');
      const encoding = encodings.find(
        ({ name: one, extension }) =>
          names.has(name + extension) && acceptsCoding(one, request.headers['accept-encoding']),
      );
      // Read first: a refusal must not be kept forever.
      const content = read(name + (encoding?.extension ?? ''));
      vary(reply, 'accept-encoding');
      reply.type(type).header('cache-control', FOREVER);
      if (encoding) reply.header('content-encoding', encoding.name);
      return reply.send(content);
    },
  };
}

/** A newer build may have replaced the folder while the service runs. */
function readPresent(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new AppError('route_not_found');
  }
}

function listOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
