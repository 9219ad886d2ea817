// A proxy that alters the ETags of responses, as proxies that compress do. It must not alter anything else.
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hooks } from '../harness.ts';

/** What compressing proxies make of a tag. */
export const alterations: readonly ((etag: string) => string)[] = [
  (etag) => (etag.startsWith('W/') ? etag : `W/${etag}`),
  ...['-gzip', ';br', '-df', '--gzip', '/gzip'].map(
    (suffix) => (etag: string) => etag.replace(/"$/, `${suffix}"`),
  ),
  (etag) => etag,
];

/** Starts the proxy and returns its URL. Each response gets the next alteration, so that those of one record differ. */
export async function startAlteringProxy(t: Hooks, target: string): Promise<string> {
  let answers = 0;
  const proxy = createServer((request, response) => {
    const { method, url, headers } = request;
    const upstream = send(new URL(url ?? '/', target), { method: method ?? 'GET', headers }, (answer) => {
      const { etag } = answer.headers;
      const alter = alterations[answers++ % alterations.length];
      if (etag !== undefined && alter) answer.headers.etag = alter(etag);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    request.pipe(upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
