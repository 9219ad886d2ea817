// Traces of a running service: a request with its statements, hashes and mails, and nothing that a person typed.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID } from '@castellan/testing/http/fixture';
import { createLog } from '../../src/platform/logging/log.ts';
import type { SamplerName } from '../../src/platform/tracing/settings.ts';
import { createTracing, type Tracing } from '../../src/platform/tracing/tracing.ts';
import { traceJob } from '../../src/traced.ts';
import { attributesOf, type Span, startCollector } from './collector.ts';

const THEIR_TRACE = '0af7651916cd43dd8448eb211c80319c';
const theirs = (flags: string): string => `00-${THEIR_TRACE}-b7ad6b7169203331-${flags}`;

const collector = await startCollector({ after });

test('a request is a trace down to its statements, hashes and mails; log lines name it; no value is in it', async (t) => {
  const service = await startTestService(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=of%20the%20collector',
  });
  const user = await createVerifiedUser(service);
  const admin = await signIn(service, ADMIN);
  await admin.get(`/api/v1/users/${ABSENT_ID}?note=in-the-query`, { headers: { traceparent: theirs('01') } });
  await admin.get('/typed/by-a-person', { headers: { traceparent: 'not-a-traceparent' } });
  await admin.put(`/api/v1/users/${user.id}`, { first_name: 'Grace' });
  const lines = service.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
  await service.stop();

  const [first] = collector.requests;
  assert.equal(first?.path, '/v1/traces');
  assert.equal(first?.headers['x-collector-key'], 'of the collector');
  assert.match(first?.text ?? '', /"service\.name","value":\{"stringValue":"castellan"\}/);

  const named = (name: string): Span[] => collector.spans.filter((span) => span.name === name);
  const childrenOf = (parent: Span | undefined): string[] =>
    collector.spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name);
  const [login] = named('POST /api/v1/auth/login');
  const inLogin = childrenOf(login);
  for (const name of ['verify password', 'insert audit_logs', 'begin', 'commit'])
    assert.ok(inLogin.includes(name), `${name} in ${inLogin.join(', ')}`);
  assert.deepEqual(attributesOf(login ?? assert.fail('no login')), {
    'http.request.method': 'POST',
    'http.route': '/api/v1/auth/login',
    'http.response.status_code': 200,
  });
  // Statements after the body, whose events belong to the connection.
  assert.ok(childrenOf(named('PUT /api/v1/users/:user_id')[0]).includes('update users'));

  const [absent] = named('GET /api/v1/users/:user_id');
  assert.ok(absent && childrenOf(absent).includes('live-access-tokens'));
  assert.notEqual(absent.traceId, THEIR_TRACE);
  assert.equal(absent.parentSpanId, undefined);
  assert.deepEqual(
    absent.links?.map(({ traceId }) => traceId),
    [THEIR_TRACE],
  );
  assert.equal(attributesOf(absent)['error.type'], 'user_not_found');
  const [line] = lines.filter(({ route, method }) => route === '/api/v1/users/:user_id' && method === 'GET');
  assert.equal(line?.trace_id, absent.traceId);
  assert.equal(named('GET no route').length, 1);
  assert.ok(named('send mail').length > 0);

  const sent = collector.requests.map(({ text }) => text).join('');
  assert.doesNotMatch(
    sent,
    new RegExp(
      `in-the-query|by-a-person|@|${ABSENT_ID}|${user.id}|Lovelace|Grace|127\\.0\\.0\\.1|eyJ|\\$argon2`,
    ),
  );
});

/** Begins and ends a request for each case; returns the spans that reached the collector. */
async function spansOf(
  sampler: SamplerName,
  ratio: number,
  ask: (tracing: Tracing) => unknown,
): Promise<Span[]> {
  const own = await startCollector({ after });
  const tracing = createTracing(
    { endpoint: `${own.url}/`, headers: {}, serviceName: 'test', sampler, ratio },
    createLog('silent'),
  );
  await ask(tracing);
  await tracing.stop();
  return own.spans;
}

test('a stranger chooses neither the trace nor whether it is kept; a trusted peer does both', async () => {
  const begin =
    (isTrusted: boolean, ...headers: (string | undefined)[]) =>
    (tracing: Tracing): void => {
      for (const traceparent of headers)
        tracing.beginRequest({ method: 'GET', route: '/x', traceparent, isTrusted }).end(200, null);
    };
  const forced = theirs('01');
  const unwanted = theirs('00');
  assert.equal((await spansOf('parentbased_always_off', 1, begin(false, forced, undefined))).length, 0);
  assert.equal((await spansOf('parentbased_traceidratio', 0, begin(false, forced))).length, 0);
  assert.equal((await spansOf('always_off', 1, begin(true, forced))).length, 0);
  const seen = await spansOf('parentbased_always_on', 1, begin(false, unwanted, forced));
  assert.equal(seen.filter(({ traceId }) => traceId !== THEIR_TRACE).length, 2);

  const [trusted] = await spansOf('parentbased_always_off', 1, begin(true, forced));
  assert.deepEqual([trusted?.traceId, trusted?.parentSpanId], [THEIR_TRACE, 'b7ad6b7169203331']);
  assert.equal((await spansOf('parentbased_always_on', 1, begin(true, unwanted))).length, 0);
  const broken = ['', '00', theirs('01').replace('00-', 'ff-'), `00-${'0'.repeat(32)}-b7ad6b7169203331-01`];
  const roots = await spansOf('parentbased_always_on', 1, begin(true, ...broken));
  assert.deepEqual(
    roots.map(({ parentSpanId }) => parentSpanId),
    broken.map(() => undefined),
  );
});

test('a run of a job is a separate trace, with its statements; a failure has a code and no message', async () => {
  const spans = await spansOf('always_on', 1, (tracing) => {
    const end = (error?: Error) => async () => {
      tracing.watch('delete sessions')(error);
      if (error) throw error;
    };
    const failure = Object.assign(new Error('Key (email)=(a@example.com) exists'), { code: '23505' });
    return Promise.allSettled([
      traceJob('clean-up', end(), tracing)(),
      traceJob('user-marks', end(failure), tracing)(),
    ]);
  });
  for (const [name, code] of [
    ['job clean-up', undefined],
    ['job user-marks', '23505'],
  ]) {
    const job = spans.find((span) => span.name === name);
    const statement = spans.find(({ parentSpanId }) => parentSpanId === job?.spanId);
    assert.equal(statement?.name, 'delete sessions');
    for (const span of [job, statement]) assert.equal(span && attributesOf(span)['error.type'], code);
  }
  assert.doesNotMatch(JSON.stringify(spans), /example\.com/);
});

test('a collector that refuses costs one warning and no memory; a dead one does not hold up a stop', async () => {
  const lines: string[] = [];
  const refusing = await startCollector({ after }, 400);
  const flood = async (endpoint: string): Promise<void> => {
    const tracing = createTracing(
      { endpoint, headers: {}, serviceName: 'test', sampler: 'always_on', ratio: 1 },
      createLog('info', { write: (line) => void lines.push(line) }),
    );
    const asked = { method: 'GET', route: '/x', traceparent: undefined, isTrusted: false };
    for (let request = 0; request < 5_000; request += 1) tracing.beginRequest(asked).end(200, null);
    await tracing.stop();
  };
  await flood(refusing.url);
  assert.ok(refusing.requests.length > 1);
  assert.ok(refusing.spans.length <= 3_000, `${refusing.spans.length} of 5,000 spans were kept`);
  assert.equal(lines.length, 1, lines.join(''));
  assert.match(lines[0] ?? '', /"level":"warn".*traces cannot be sent/);
  await flood('http://127.0.0.1:1');
});
