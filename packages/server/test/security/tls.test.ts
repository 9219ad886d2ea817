// TLS_CERT_FILE and TLS_KEY_FILE: what the service speaks, and certificates that are replaced while it is used.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect as connectPlainly } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { startTestService } from '@castellan/testing/harness';
import { makeCertificate } from '@castellan/testing/http/certificate';
import { definitions } from '../../src/metrics/definitions.ts';
import { openTls } from '../../src/platform/http/server/tls.ts';
import type { Logger } from '../../src/platform/logging/log.ts';

const folder = mkdtempSync(join(tmpdir(), 'castellan-tls-'));
after(() => rmSync(folder, { recursive: true }));
const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];

type Made = { cert: string; key: string };
function write({ cert, key }: Made): void {
  writeFileSync(certFile, cert, { mode: 0o644 });
  writeFileSync(keyFile, key, { mode: 0o600 });
}
const serialOf = ({ cert }: Made): string => new X509Certificate(cert).serialNumber;

const [first, second, third] = [1, 2, 3].map(() => makeCertificate('localhost')) as [Made, Made, Made];
write(first);
const service = await startTestService(
  { after },
  { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, PUBLIC_URL: 'https://localhost' },
);
const port = Number(new URL(service.url).port);
const tls = service.service.deps.tls;
assert.ok(tls);
const trusted = { ca: [first.cert, second.cert, third.cert], servername: 'localhost' };

/** Resolves with the status and the serial number of the certificate of the connection. */
const ask = (agent: Agent, path = '/health/ready'): Promise<{ status: number; serial: string }> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, agent, ...trusted }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, serial: serialNumber }));
    });
    sent.on('error', reject).end();
  });

async function askAnew(): Promise<{ status: number; serial: string }> {
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  return ask(agent).finally(() => agent.destroy());
}

const speak = (options: object): Promise<string | null> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ...trusted, ...options }, () => {
      resolve(socket.getProtocol());
      socket.end();
    }).on('error', reject);
  });

const warnings = (): string[] =>
  service.logLines.filter((line) => line.includes('"level":"warn"') && line.includes('TLS_')).map(String);

test('the service speaks TLS 1.2 and 1.3, no older version, and HTTP/1.1', async () => {
  assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.deepEqual(await askAnew(), { status: 200, serial: serialOf(first) });
  assert.equal(await speak({ maxVersion: 'TLSv1.2' }), 'TLSv1.2');
  assert.equal(await speak({ minVersion: 'TLSv1.3' }), 'TLSv1.3');
  await assert.rejects(
    speak({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    /protocol|version|alert/i,
  );
  const socket = connect({ host: '127.0.0.1', port, ...trusted, ALPNProtocols: ['h2', 'http/1.1'] });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  assert.equal(socket.alpnProtocol, 'http/1.1');
  socket.destroy();
});

test('a request without TLS gets no byte, and the next one with TLS is answered', async () => {
  const got = await new Promise<Buffer>((resolve) => {
    const parts: Buffer[] = [];
    const socket = connectPlainly({ host: '127.0.0.1', port }, () =>
      socket.write('GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    );
    socket
      .on('data', (part: Buffer) => void parts.push(part))
      .on('error', () => {})
      .on('close', () => resolve(Buffer.concat(parts)));
  });
  // An alert of TLS at most: 7 bytes, content type 21 (RFC 8446, 6).
  assert.ok(got.length === 0 || (got.length <= 7 && got[0] === 21), got.toString('latin1'));
  assert.equal((await askAnew()).status, 200);
});

test('a certificate that is replaced under load drops no connection, and new connections get it', async () => {
  const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  let isLoaded = true;
  let answered = 0;
  const serials = new Map<Agent, Set<string>>(agents.map((agent) => [agent, new Set()]));
  const kept = agents.map(async (agent) => {
    while (isLoaded) {
      const { status, serial } = await ask(agent);
      assert.equal(status, 200);
      serials.get(agent)?.add(serial);
      answered += 1;
    }
  });
  const anew = Array.from({ length: 2 }, async () => {
    while (isLoaded) {
      assert.equal((await askAnew()).status, 200);
      answered += 1;
    }
  });
  const moreAnswers = async () => {
    const wanted = answered + 20;
    while (answered < wanted) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await moreAnswers();
  for (const next of [second, third, first, second]) {
    write(next);
    tls.lookAgain();
    assert.equal((await askAnew()).serial, serialOf(next));
    await moreAnswers();
  }
  isLoaded = false;
  await Promise.all([...kept, ...anew]);
  for (const [agent, seen] of serials) {
    assert.deepEqual([...seen], [serialOf(first)], 'a kept connection is the same one throughout');
    agent.destroy();
  }
  assert.ok(service.logLines.some((line) => line.includes('the certificate of TLS_CERT_FILE was replaced')));
});

const unusable: Record<string, { spoil: () => void; reason: RegExp }> = {
  'a key of another certificate': {
    spoil: () => write({ cert: first.cert, key: third.key }),
    reason: /is not the key of the first certificate/,
  },
  'a key alone': { spoil: () => writeFileSync(keyFile, third.key), reason: /is not the key of/ },
  'a cut certificate': {
    spoil: () => write({ cert: first.cert.slice(0, 200), key: first.key }),
    reason: /has no certificate in PEM/,
  },
  'a cut key': {
    spoil: () => write({ cert: first.cert, key: first.key.slice(0, 60) }),
    reason: /has no private key in PEM/,
  },
  'no file': { spoil: () => rmSync(certFile), reason: /TLS_CERT_FILE \(.+\) does not exist/ },
};
for (const [name, { spoil, reason }] of Object.entries(unusable))
  test(`${name}: the former pair stays in use, with one warning, until one that fits`, async () => {
    write(second);
    tls.lookAgain();
    const before = warnings().length;
    spoil();
    tls.lookAgain();
    tls.lookAgain();
    assert.equal((await askAnew()).serial, serialOf(second));
    assert.equal(tls.stats().isCurrent, false);
    const [warning = '', ...more] = warnings().slice(before);
    assert.match(warning, reason);
    assert.match(warning, /The former certificate stays in use/);
    assert.deepEqual(more, []);
    assert.doesNotMatch(service.logLines.join('\n'), /PRIVATE KEY/);
    write(third);
    tls.lookAgain();
    assert.equal((await askAnew()).serial, serialOf(third));
    assert.equal(tls.stats().isCurrent, true);
  });

test('an expired certificate does not replace one that works; at the start, it is served with a warning', () => {
  const warned: string[] = [];
  const note = (about: unknown, msg?: string) => void warned.push(msg ?? String(about));
  const log = { warn: note, info: () => {} } as unknown as Logger;
  write(first);
  let now = new Date();
  const opened = openTls({ certFile, keyFile }, log, { now: () => now });
  assert.deepEqual(warned, []);
  const { notAfter } = opened.stats();
  now = new Date(notAfter.getTime() + 1_000);
  write(second);
  opened.lookAgain();
  assert.match(warned.pop() ?? '', /^The certificate in TLS_CERT_FILE \(.+\) expired at .+ stays in use/);
  assert.deepEqual(opened.stats(), { isCurrent: false, notAfter });
  opened.stop();
  now = new Date(0);
  openTls({ certFile, keyFile }, log, { now: () => now }).stop();
  assert.match(warned.pop() ?? '', /is not valid before/);
});

test('a pair that was refused is used once it is valid, without another change of its files', () => {
  const warned: string[] = [];
  const log = {
    warn: (_: unknown, msg: string) => void warned.push(msg),
    info: () => {},
  } as unknown as Logger;
  write(first);
  const valid = new Date();
  let now = valid;
  const opened = openTls({ certFile, keyFile }, log, { now: () => now });
  write(second);
  now = new Date(0);
  for (let i = 0; i < 3; i += 1) opened.lookAgain();
  assert.equal(warned.length, 1);
  assert.match(warned[0] ?? '', /is not valid before .+ stays in use/);
  assert.equal(opened.stats().isCurrent, false);
  now = valid;
  opened.lookAgain();
  assert.equal(opened.stats().isCurrent, true);
  opened.stop();
});

test('the metrics tell when the certificate expires, and whether it is the one in the files', () => {
  const gaugeOf = (name: string) => {
    const definition = definitions.find((one) => one.name === name);
    assert.ok(definition && definition.type === 'gauge');
    return definition.read({ deps: service.service.deps } as never)[0]?.value;
  };
  assert.equal(
    gaugeOf('castellan_tls_certificate_expiry_timestamp_seconds'),
    tls.stats().notAfter.getTime() / 1_000,
  );
  assert.equal(gaugeOf('castellan_tls_certificate_current'), 1);
});

test('a start without a pair that fits, or with an http PUBLIC_URL, says what to do', async () => {
  write({ cert: first.cert, key: second.key });
  await assert.rejects(service.another(), /is not the key of the first certificate/);
  write(first);
  await assert.rejects(service.another({ PUBLIC_URL: 'http://localhost' }), /write the https URL/);
  await assert.rejects(service.another({ TLS_KEY_FILE: '' }), /belong together/);
});
