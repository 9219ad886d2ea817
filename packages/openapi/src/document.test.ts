// Tests the builder on a service of two routes with its own conventions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answersOf,
  type Conventions,
  completeDocument,
  type Draft,
  FACTS,
  type RouteFacts,
} from './index.ts';

const failure = {
  title: 'Failure',
  type: 'object',
  required: ['code'],
  properties: { code: { type: 'string' } },
};
const conventions: Conventions = {
  errors: {
    bad_id: [400, 'An id is not a UUID.'],
    signed_out: [401, 'Sign in.'],
    forbidden: [403, 'You may not.'],
    missing: [404, 'There is none.'],
    broken: [500, 'Our fault.'],
  },
  implied: {
    always: ['broken'],
    signedIn: ['signed_out'],
    permission: ['forbidden'],
    personal: [],
    csrf: [],
    limited: [],
    body: [],
    idempotent: [],
    uuid: ['bad_id'],
    below: {},
  },
  retryAfter: [],
  failure,
  problem: { ...failure, title: 'Problem' },
  failureExample: (code) => ({ code }),
  examples: { title: 'Buy milk' },
  bearer: 'The token.',
  basic: 'Id and key.',
  csrf: { header: 'X-CSRF', headerIs: 'The token.', cookie: 'csrf', cookieIs: 'Its cookie.' },
  cookiePrefix: '__Host-',
  tags: { Notes: 'What to remember.' },
};
const note = {
  title: 'Note',
  type: 'object',
  required: ['title'],
  properties: { title: { type: 'string' } },
};

const facts = (more: Partial<RouteFacts>): RouteFacts => ({
  method: 'GET',
  url: '/api/v1/notes/:note_id',
  summary: 'Read a note',
  description: undefined,
  tags: undefined,
  operationId: undefined,
  access: 'note.read',
  orSelf: false,
  errors: ['missing'],
  limit: null,
  bodyLimits: { size: '16 KiB', values: 200 },
  invalidInput: 'broken',
  otherMedia: 'no_media',
  othersNeed: null,
  csrf: false,
  idempotent: false,
  conditional: false,
  basic: false,
  failure: undefined,
  answerHeaders: {},
  cookies: { reads: [], sets: [] },
  body: undefined,
  bodyTypes: ['application/json'],
  params: { type: 'object', properties: { note_id: { type: 'string', format: 'uuid' } } },
  query: undefined,
  answers: { '200': note },
  ...more,
});
const draft = (...routes: RouteFacts[]): Draft => ({
  openapi: '3.1.0',
  info: { title: 'Notes', version: '1.0.0', description: 'Keeps notes.' },
  servers: [],
  paths: Object.fromEntries(routes.map((one) => [one.url, { [one.method.toLowerCase()]: { [FACTS]: one } }])),
});
const update = { method: 'PUT', url: '/api/v1/notes/:note_id/text', summary: 'Change a note' } as const;

test('an operation has its id, tag, permission, responses and the errors that its declaration implies', () => {
  const document = completeDocument(draft(facts({})), conventions);
  const operation = document.paths['/api/v1/notes/:note_id']?.get;
  assert.ok(operation);
  assert.equal(operation.operationId, 'getNote');
  assert.deepEqual(document.tags, [{ name: 'Notes', description: 'What to remember.' }]);
  assert.equal(operation['x-permission'], 'note.read');
  assert.deepEqual(operation.security, [{ bearer: [] }]);
  const answers = answersOf(operation, document);
  assert.deepEqual(
    answers.flatMap(([, answer]) => answer['x-error-codes'] ?? []),
    ['bad_id', 'signed_out', 'forbidden', 'missing', 'broken'],
  );
  const [, found] = answers.find(([status]) => status === '200') ?? [];
  assert.deepEqual(found?.content?.['application/json'], {
    schema: { $ref: '#/components/schemas/Note' },
    example: { title: 'Buy milk' },
  });
});

test('shared error responses are written once, under components', () => {
  const document = completeDocument(draft(facts({}), facts(update)), conventions);
  const [first, second] = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  assert.ok(first && second);
  assert.deepEqual(first.responses['404'], { $ref: '#/components/responses/missing' });
  assert.deepEqual(second.responses['404'], first.responses['404']);
  assert.deepEqual(
    answersOf(first, document).map(([status, { description }]) => [status, description]),
    answersOf(second, document).map(([status, { description }]) => [status, description]),
  );
});

test('a page stands beside the errors of its status, and a declared JSON body replaces them', () => {
  const page = { content: { 'text/html': { schema: { type: 'string' } } } };
  const contentOf = (answer: object) => {
    const document = completeDocument(draft(facts({ answers: { '404': answer as never } })), conventions);
    const operation = document.paths['/api/v1/notes/:note_id']?.get ?? assert.fail();
    const [, found] = answersOf(operation, document).find(([status]) => status === '404') ?? [];
    return [Object.keys(found?.content ?? {}), found?.['x-error-codes']];
  };
  assert.deepEqual(contentOf(page), [
    ['text/html', 'application/json', 'application/problem+json'],
    ['missing'],
  ]);
  assert.deepEqual(contentOf(note), [['application/json'], undefined]);
});

test('ambiguous input is refused', () => {
  const twice = draft(facts({ operationId: 'note' }), facts({ ...update, operationId: 'note' }));
  assert.throws(() => completeDocument(twice, conventions), /both named "note"/);
  const clash = draft(facts({}), facts({ ...update, answers: { '200': { ...note, required: [] } } }));
  assert.throws(() => completeDocument(clash, conventions), /two different schemas are titled "Note"/);
  assert.throws(
    () => completeDocument(draft(facts({ errors: ['teapot'] })), conventions),
    /GET \/api\/v1\/notes\/:note_id: no error has the code "teapot"/,
  );
  const bare: Draft = { ...draft(), paths: { '/notes': { get: {} } } };
  assert.throws(() => completeDocument(bare, conventions), /get \/notes came without its facts/);
});
