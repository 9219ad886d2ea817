// Compares the answers of the service with its OpenAPI document, and builds the URL parts of a request from it.
// It must not send anything.
import assert from 'node:assert/strict';
import type { OpenApiDocument } from '@castellan/openapi';
import { answersOf } from '@castellan/openapi';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from '../client.ts';
import type { Entry } from './requests.ts';

/** Returns a check that the document describes an answer of an operation: its status, code, content type and body. */
export function describedBy(document: OpenApiDocument): (entry: Entry, answer: Answer) => void {
  const ajv = addFormats.default(new Ajv2020({ strict: false, validateSchema: false, allErrors: true }));
  ajv.addSchema(document, 'openapi');
  const validators = new Map<string, ValidateFunction>();
  function validatorOf(schema: object): ValidateFunction {
    const key = JSON.stringify(schema);
    // The document writes its references relative to itself.
    const absolute = JSON.parse(key.replaceAll('"$ref":"#', '"$ref":"openapi#'));
    const known = validators.get(key) ?? ajv.compile(absolute);
    validators.set(key, known);
    return known;
  }

  return function assertDescribed({ operation }: Entry, answer: Answer): void {
    const { status, body, text, headers } = answer;
    // The providers of the tests are nowhere.
    const isAway = status === 503 && codeIn(answer) === 'provider_unavailable';
    assert.ok(status < 500 || isAway, 'a failure of the service');
    const described = new Map(answersOf(operation, document)).get(String(status));
    assert.ok(described, `status ${status} is not described`);
    assert.match(headers.get('x-request-id') ?? '', /./);
    const codes = described['x-error-codes'];
    const code = codeIn(answer);
    if (codes) assert.ok(code && codes.includes(code), `code ${code} is not described under ${status}`);
    if (!described.content) {
      assert.equal(text, '');
      return;
    }
    const type = headers.get('content-type')?.split(';')[0] ?? '';
    const media = described.content[type];
    assert.ok(media, `content type ${type} is not described under ${status}`);
    const validate = validatorOf(media.schema);
    assert.ok(validate(/[/+]json$/.test(type) ? body : text), ajv.errorsText(validate.errors));
  };
}

/** Returns the code of an error, also in the shape of OAuth 2.0; undefined if the answer is no error. */
export const codeIn = ({ body }: Answer): string | undefined => body?.code ?? body?.error;

/** Returns the query string of these values; an array repeats its name. */
export const queryOf = (query: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  ).toString();

export const lowerCase = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
