import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createLog } from '../../logging/log.ts';
import { createAccessLog } from './access-log.ts';

const answer = (more: object): [FastifyRequest, FastifyReply] => [
  {
    id: 'Aa0._~+/=:@-',
    method: 'GET',
    routeOptions: { url: '/api/:a"\\b' },
    refusal: null,
    client: { address: '2001:db8::1' },
    ...more,
  } as unknown as FastifyRequest,
  { statusCode: 200, elapsedTime: 1.26 } as FastifyReply,
];

test('a line has the text that pino would write', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const write = createAccessLog(log);
  const variants = [
    {},
    { refusal: 'permission_denied' },
    { routeOptions: { url: undefined }, client: undefined },
  ];
  for (const variant of variants) {
    const [request, reply] = answer(variant);
    write(request, reply);
    log.info({
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      ...(request.refusal ? { code: request.refusal } : {}),
      duration_ms: 1.3,
      address: request.client?.address,
    });
  }
  const withoutTime = lines.map((line) => line.replace(/"time":"[^"]+"/, '"time"'));
  assert.equal(lines.length, 2 * variants.length);
  for (let index = 0; index < lines.length; index += 2)
    assert.equal(withoutTime[index], withoutTime[index + 1]);
  for (const line of lines) assert.ok(Math.abs(Date.parse(JSON.parse(line).time) - Date.now()) < 60_000);
});

test('no line is written above the level info', () => {
  const lines: string[] = [];
  createAccessLog(createLog('warn', { write: (line) => void lines.push(line) }))(...answer({}));
  assert.deepEqual(lines, []);
});
