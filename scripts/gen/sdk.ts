// Writes the types of the SDK, packages/sdk/src/api.ts: every record and every operation of docs/openapi.json, and every
// error code of the contract.
// With --check it only reports a stale file (exit status 1). The file has no code, so that it adds no bytes to a client.
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { errorCatalogue } from '../../packages/contract/src/http/errors.ts';
import { isObject } from '../../packages/server/src/platform/unknown-values.ts';

const source = new URL('../../docs/openapi.json', import.meta.url);
const target = new URL('../../packages/sdk/src/api.ts', import.meta.url);

type Schema = Record<string, unknown>;
type Parameter = { name: string; in: string; required?: boolean; schema: Schema; description?: string };
type Content = Record<string, { schema: Schema }>;
type Operation = {
  summary?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const listOf = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
const isName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text);
const keyOf = (name: string): string => (isName(name) ? name : JSON.stringify(name));

const simpleTypes: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** Returns the TypeScript type of a JSON schema. Throws for a keyword that it does not know. */
function typeOf(schema: Schema): string {
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? 'unknown';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.anyOf) return unionOf(listOf(schema.anyOf).map(typeOf));
  if (schema.allOf) return listOf(schema.allOf).map(typeOf).join(' & ');
  if (Array.isArray(schema.type)) return unionOf(schema.type.map((type) => typeOf({ ...schema, type })));
  if (schema.type === 'array')
    return isObject(schema.items) ? `${grouped(typeOf(schema.items))}[]` : 'unknown[]';
  if (schema.type === 'object') return objectOf(schema);
  if (schema.type === undefined) return 'unknown';
  const simple = typeof schema.type === 'string' ? simpleTypes[schema.type] : undefined;
  if (simple === undefined) throw new Error(`unknown type of a schema: ${JSON.stringify(schema)}`);
  return simple;
}

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ');
const grouped = (type: string): string => (/ [|&] /.test(type) && !type.startsWith('{') ? `(${type})` : type);

function objectOf(schema: Schema): string {
  const required = new Set(textsOf(schema.required));
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const members = properties.flatMap(([name, property]) =>
    isObject(property) ? [memberOf(name, property, required.has(name))] : [],
  );
  if (schema.additionalProperties && members.length === 0) return 'Record<string, unknown>';
  return members.length === 0 ? 'Record<string, never>' : `{\n${members.join('')}}`;
}

function memberOf(name: string, schema: Schema, isRequired: boolean): string {
  // A family of parameters, whose names the caller completes.
  if (name.endsWith('{name}'))
    return `${commentOf(schema.description)}[name: \`${name.replace('{name}', `\${string}`)}\`]: ${typeOf(schema)} | undefined;\n`;
  return `${commentOf(schema.description)}${keyOf(name)}${isRequired ? '' : '?'}: ${typeOf(schema)};\n`;
}

const commentOf = (text: unknown): string =>
  typeof text === 'string' ? `/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n` : '';

/** Returns the type of the successful responses. Exports are streams, so the response itself is the result. */
function resultOf({ responses }: Operation): string {
  const types = Object.entries(responses)
    .filter(([status]) => /^(2..|303)$/.test(status))
    .map(([, { content }]) => {
      if (!content || Object.keys(content).length === 0) return 'undefined';
      const json = content['application/json'];
      return json ? typeOf(json.schema) : 'Response';
    });
  return unionOf(types);
}

const inPart = (operation: Operation, part: string): Parameter[] =>
  (operation.parameters ?? []).filter((one) => one.in === part);

function partOf(name: string, parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return '';
  const members = parameters.map((one) =>
    memberOf(one.name, { description: one.description, ...one.schema }, one.required === true),
  );
  const isRequired = parameters.some((one) => one.required);
  return `${name}${isRequired ? '' : '?'}: {\n${members.join('')}};\n`;
}

function bodyOf({ requestBody }: Operation): string {
  if (!requestBody) return '';
  const [media] = Object.values(requestBody.content);
  return media ? `body${requestBody.required ? '' : '?'}: ${typeOf(media.schema)};\n` : '';
}

const keyOptionOf = (operation: Operation): string =>
  inPart(operation, 'header').some(({ name }) => name === 'Idempotency-Key')
    ? '/** Repeat an earlier call with its key, and it creates no second record. Default: a new key for each call. */\nidempotencyKey?: string | undefined;\n'
    : '';

const HEADER = `// Generated by scripts/gen/sdk.ts from docs/openapi.json and the contract. Do not edit.
// The records, operations and error codes of the HTTP API, as types only.
`;

/** Returns the text of the file, not yet formatted. */
export function generateTypes({ paths, components }: Document, codes: readonly string[]): string {
  const records = Object.entries(components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `${commentOf(schema.description)}export type ${name} = ${typeOf(schema)};\n`);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parts = [
        partOf('path', inPart(operation, 'path')),
        partOf('query', inPart(operation, 'query')),
        bodyOf(operation),
        keyOptionOf(operation),
        `result: ${resultOf(operation)};\n`,
      ];
      return `${commentOf(operation.summary)}${JSON.stringify(`${method.toUpperCase()} ${path}`)}: {\n${parts.join('')}};\n`;
    }),
  );
  const errorCode = `/** docs/errors.md lists the codes with their status and text. */\nexport type ErrorCode = ${unionOf(codes.map((code) => JSON.stringify(code)))};\n`;
  return `${HEADER}\n${records.join('\n')}\n${errorCode}\n/** Every operation by method and path: what it takes, and what a success returns. */\nexport type Operations = {\n${operations.join('')}};\n`;
}

/** Formats the text as the repository's files are, so that the linter accepts it. */
async function format(text: string): Promise<string> {
  const child = spawn('node_modules/.bin/biome', ['format', '--stdin-file-path=packages/sdk/src/api.ts'], {
    cwd: new URL('../..', import.meta.url),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(text);
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

if (import.meta.main) {
  const fresh = await format(
    generateTypes(JSON.parse(await readFile(source, 'utf8')), Object.keys(errorCatalogue).sort()),
  );
  if (process.argv.includes('--check')) {
    const stored = await readFile(target, 'utf8').catch(() => '');
    if (stored !== fresh) {
      process.stderr.write('packages/sdk/src/api.ts is stale. Run: node scripts/gen/sdk.ts\n');
      process.exitCode = 1;
    }
  } else {
    await writeFile(target, fresh);
  }
}
