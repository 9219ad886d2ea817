// Reads every request to some paths as GET, so that no rule for a method applies: neither CSRF tokens, bodies, preflights
// nor the methods that the framework knows. Node has noted before that a response to HEAD has no body.
import type { Server } from 'node:http';

/**
 * Add it before the listener that routes requests. `paths` are compared as they are sent: in another spelling of a path,
 * only GET and HEAD are routed.
 */
export function ignoreMethods(server: Server, paths: ReadonlySet<string>): void {
  server.prependListener('request', (request) => {
    const { url = '', method } = request;
    if (method === 'GET') return;
    const end = url.indexOf('?');
    if (paths.has(end < 0 ? url : url.slice(0, end))) request.method = 'GET';
  });
}
