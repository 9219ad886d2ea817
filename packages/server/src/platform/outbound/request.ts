// Asks an address that a record names. It must not follow a redirect, reuse a connection, or show anything of an answer but
// what its caller reads.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressRanges } from '../security/address-ranges.ts';
import { errorCode } from '../unknown-values.ts';
import { type PlainHttp, refusalOf } from './destinations.ts';
import { createNames, type Resolve } from './names.ts';

export type OutboundSettings = {
  outboundDeny: AddressRanges;
};

export type OutboundRequest = {
  /** http or https. */
  url: string;
  method: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** Where http is allowed. */
  plain: PlainHttp;
  /** How much of the body is read, in bytes. 0: none. */
  maxBytes: number;
  /** Default: 5 seconds. */
  timeoutMs?: number;
  /** Certificates to trust besides the system's, for tests. */
  ca?: string;
  /** For tests. */
  resolve?: Resolve;
};

export type OutboundAnswer = {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
};

/** Why there is no answer: `address_refused`, `not_https`, `timeout`, `too_large`, or the code of Node's error. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: string;

  constructor(code: string) {
    super(`the address was not reached: ${code}`);
    this.code = code;
  }
}

const OUTBOUND_TIMEOUT_MS = 5_000;

/**
 * Returns the status, the headers and the body. The address that the name resolves to is judged when it is connected to, so a name that
 * changes leads nowhere else. Rejects with OutboundError.
 */
export async function askOutside(
  { outboundDeny }: OutboundSettings,
  request: OutboundRequest,
): Promise<OutboundAnswer> {
  const url = new URL(request.url);
  const isPlain = url.protocol === 'http:';
  const judging = { isPlain, plain: request.plain, deny: outboundDeny };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // Node resolves no literal address.
  const refusal = isIP(host) === 0 ? null : refusalOf(host, judging);
  if (refusal) throw new OutboundError(refusal);
  const allowed = async (name: string): Promise<LookupAddress[]> => {
    const found = await (request.resolve ?? resolveAll)(name);
    const judged = found.map((one) => ({ one, why: refusalOf(one.address, judging) }));
    const good = judged.filter(({ why }) => why === null).map(({ one }) => one);
    if (good.length === 0) throw new OutboundError(judged[0]?.why ?? 'ENOTFOUND');
    return good;
  };
  try {
    return await exchange(url, request, lookupOf(allowed));
  } catch (error) {
    throw error instanceof OutboundError ? error : new OutboundError(codeOf(error));
  }
}

const resolveAll = createNames((host) => lookup(host, { all: true }));

/** Node's requests reject with an AbortError when their signal times out, bodies with the TimeoutError itself. */
const codeOf = (error: unknown): string =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
    ? 'timeout'
    : (errorCode(error) ?? 'failed');

const lookupOf =
  (allowed: (name: string) => Promise<LookupAddress[]>): LookupFunction =>
  (name, { all, family }, callback) => {
    allowed(name).then(
      (addresses) => {
        const [first] = addresses;
        if (all) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family ?? Number(family));
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };

function exchange(
  url: URL,
  { method, headers = {}, body, maxBytes, timeoutMs = OUTBOUND_TIMEOUT_MS, ca }: OutboundRequest,
  lookupAllowed: LookupFunction,
): Promise<OutboundAnswer> {
  const options = {
    method,
    agent: false,
    lookup: lookupAllowed,
    headers: {
      'user-agent': 'castellan',
      ...headers,
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
    },
    signal: AbortSignal.timeout(timeoutMs),
  };
  return new Promise((resolve, reject) => {
    const sent =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, ...(ca === undefined ? {} : { ca }), rejectUnauthorized: true })
        : requestHttp(url, options);
    sent.on('error', reject);
    // An answer that changes the protocol (101) ends the request without a response or an error.
    sent.once('close', () => reject(new OutboundError('no_answer')));
    sent.once('response', (response) => {
      const { statusCode: status = 0, headers: received } = response;
      if (maxBytes === 0) {
        resolve({ status, headers: received, body: '' });
        response.on('error', () => {}).destroy();
      } else
        readBody(response, maxBytes).then(
          (text) => resolve({ status, headers: received, body: text }),
          reject,
        );
    });
    sent.end(body);
  });
}

/** Rejects with `too_large`, and reads nothing more. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new OutboundError('too_large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
