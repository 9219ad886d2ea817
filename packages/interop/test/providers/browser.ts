// A browser without pages: it keeps the cookies of one provider and follows no redirect by itself.
// It must not send a cookie to another host.
import { Agent, request as send } from 'node:http';
import type { Body } from '@castellan/testing/client';

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

export type Answer = { status: number; headers: Headers; text: string; body: Body };

export type Browser = {
  readonly cookies: Map<string, string>;
  /** Sends a request to a path of the provider. */
  request(
    method: string,
    path: string,
    options?: { raw?: string; headers?: Record<string, string | null> },
  ): Promise<Answer>;
};

/** Returns a browser that has these cookies of `origin`. */
export function createBrowser(origin: string, cookies = new Map<string, string>()): Browser {
  return {
    cookies,
    async request(method, path, { raw, headers = {} } = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const given = Object.entries({ ...(cookie ? { cookie } : {}), ...headers });
      const answer = await ask(`${origin}${path}`, method, given, raw);
      for (const one of answer.headers.getSetCookie()) keep(cookies, one);
      return answer;
    },
  };
}

function keep(cookies: Map<string, string>, cookie: string): void {
  const [pair = '', ...attributes] = cookie.split('; ');
  const name = pair.slice(0, pair.indexOf('='));
  if (attributes.some((one) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(one))) cookies.delete(name);
  else cookies.set(name, pair.slice(name.length + 1));
}

function ask(
  address: string,
  method: string,
  headers: [string, string | null][],
  raw?: string,
): Promise<Answer> {
  const sent = Object.fromEntries(headers.filter(([, value]) => value !== null) as [string, string][]);
  return new Promise((resolve, reject) => {
    const length = raw === undefined ? {} : { 'content-length': Buffer.byteLength(raw) };
    const request = send(address, { method, agent, headers: { ...sent, ...length } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        const received = new Headers();
        for (const [name, values = []] of Object.entries(response.headersDistinct))
          for (const value of values) received.append(name, value);
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: received, text, body: parse(text) });
      });
    });
    request.on('error', reject);
    request.end(raw);
  });
}

function parse(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
