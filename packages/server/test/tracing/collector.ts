// A collector of OpenTelemetry that keeps the spans it gets, whatever it answers.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Hooks } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';

export type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
};

export type Collector = {
  url: string;
  spans: Span[];
  /** Paths, headers and bodies of the requests. */
  requests: { path: string; headers: NodeJS.Dict<string | string[]>; text: string }[];
};

type Body = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };

/** `status`: what it answers. */
export async function startCollector(t: Hooks, status = 200): Promise<Collector> {
  const spans: Span[] = [];
  const requests: Collector['requests'] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.once('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers, text });
      const { resourceSpans } = JSON.parse(text) as Body;
      spans.push(...resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)));
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${portOf(server)}`, spans, requests };
}

export const attributesOf = ({ attributes }: Span): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
