// A stand-in for Castellan that can fail and lie. It answers as the real one does, until an answer is replaced.
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { makeKey } from '../../src/guard/api-key.ts';

type Path = 'jwks' | 'introspect' | 'evaluations';
export type Json = Record<string, unknown>;
/** Answers instead of the stand-in. `honest` is the body that the real service would send. */
export type Lie = (response: ServerResponse, honest: Json, path: Path) => void;

export type FakeCastellan = {
  url: string;
  /** Bodies received, by path. */
  asked: Record<Path, string[]>;
  /** Replaces the answers of these paths, or of all. */
  lie(how: Lie | undefined, ...paths: Path[]): void;
  /** Returns a signed access token of a user with these permissions. */
  token(permissions: readonly string[], claims?: Json, header?: Json): string;
  /** Returns an API key with these permissions, of an account that holds more. */
  key(permissions: readonly string[], account: string): string;
  /** A personal access token of this user. */
  personalToken(permissions: readonly string[], user: string): string;
  revoke(token: string): void;
  /** Signs with a new key from now on; `isPublished` tells whether the key set has it. */
  rotate(isPublished?: boolean): void;
  grant(subject: string, permission: string): void;
  stop(): Promise<void>;
};

const paths: Record<string, Path> = {
  '/below/.well-known/jwks.json': 'jwks',
  '/below/api/v1/oauth/introspect': 'introspect',
  '/below/api/v1/access/v1/evaluations': 'evaluations',
};
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

export function sendJson(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
}

export async function startFakeCastellan(): Promise<FakeCastellan> {
  const published: Json[] = [];
  const live = new Map<string, Json>();
  const granted = new Set<string>();
  const asked: Record<Path, string[]> = { jwks: [], introspect: [], evaluations: [] };
  let lies: Partial<Record<Path, Lie>> = {};
  let signing: { kid: string; key: KeyObject };

  function rotate(isPublished = true): void {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const kid = randomUUID();
    signing = { kid, key: privateKey };
    if (isPublished)
      published.push({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'EdDSA' });
  }
  rotate();

  function honestly(path: Path, body: string): Json {
    if (path === 'jwks') return { keys: published };
    if (path === 'introspect')
      return live.get(new URLSearchParams(body).get('token') ?? '') ?? { active: false };
    const evaluations: { subject: { id: string }; action: { name: string }; resource: { type: string } }[] =
      JSON.parse(body).evaluations;
    return {
      evaluations: evaluations.map(({ subject, action, resource }) => {
        const permission = `${resource.type}.${action.name}`;
        return {
          decision: granted.has(`${subject.id} ${permission}`),
          context: { reason: 'granted', permission },
        };
      }),
    };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = paths[request.url ?? ''];
    const body = await text(request);
    if (!path) {
      response.statusCode = 404;
      response.end();
      return;
    }
    asked[path].push(body);
    const honest = honestly(path, body);
    const lie = lies[path];
    if (lie) lie(response, honest, path);
    else sendJson(response, honest);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  function token(permissions: readonly string[], claims: Json = {}, header: Json = {}): string {
    const payload = {
      sub: randomUUID(),
      jti: randomUUID(),
      sid: randomUUID(),
      iat: nowSeconds(),
      exp: nowSeconds() + 600,
      iss: 'https://id.example.com',
      aud: 'https://id.example.com',
      client_id: 'castellan',
      ...claims,
    };
    const input = `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid: signing.kid, ...header })}.${encode(payload)}`;
    const jwt = `${input}.${sign(null, Buffer.from(input), signing.key).toString('base64url')}`;
    live.set(jwt, {
      ...payload,
      active: true,
      username: 'ada@example.com',
      token_type: 'Bearer',
      permissions,
    });
    for (const permission of permissions) granted.add(`${payload.sub} ${permission}`);
    return jwt;
  }

  return {
    url: `http://127.0.0.1:${port}/below/`,
    asked,
    lie(how, ...which) {
      const chosen: Path[] = which.length > 0 ? which : ['jwks', 'introspect', 'evaluations'];
      lies = how ? Object.fromEntries(chosen.map((path) => [path, how])) : {};
    },
    token,
    key(permissions, account) {
      const key = makeKey();
      const member = {
        active: true,
        sub: account,
        client_id: account,
        username: 'Import',
        token_type: 'Bearer',
      };
      live.set(key, { ...member, jti: randomUUID(), iat: nowSeconds(), permissions });
      return key;
    },
    personalToken(permissions, user) {
      const text = makeKey('castellan_pat_');
      const member = { active: true, sub: user, client_id: 'castellan', username: 'ada@example.com' };
      const times = { iat: nowSeconds(), exp: nowSeconds() + 600 };
      live.set(text, { ...member, ...times, token_type: 'Bearer', jti: randomUUID(), permissions });
      return text;
    },
    revoke: (one) => {
      live.delete(one);
    },
    rotate,
    grant: (subject, permission) => {
      granted.add(`${subject} ${permission}`);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
