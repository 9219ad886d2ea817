// Shows what a request takes as a table: one row per field, nested ones with their path.
// It must not show more levels than a person reads: deeper ones stand in the OpenAPI document.
import { type Html, html, inline } from './html.ts';
import type { JsonSchema, OpenApiDocument, Parameter } from './openapi.ts';
import { componentName } from './schemas.ts';

type Schemas = OpenApiDocument['components'][string];
const MAX_LEVEL = 2;

type Row = { name: string; type: string; required: boolean; notes: (string | undefined)[] };

export const parameterRows = (parameters: readonly Parameter[], schemas: Schemas): Row[] =>
  parameters.map((one) => ({
    name: one.name,
    type: typeOf(resolve(one.schema, schemas), schemas),
    required: one.required ?? false,
    notes: [one.in, one.description, ...limitsOf(resolve(one.schema, schemas))],
  }));

export function bodyRows(given: JsonSchema, schemas: Schemas, prefix = '', level = 0): Row[] {
  const schema = objectIn(resolve(given, schemas), schemas);
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, child]) => {
    const resolved = resolve(child, schemas);
    const row: Row = {
      name: `${prefix}${name}`,
      type: typeOf(resolved, schemas),
      required: required.includes(name),
      notes: [resolved.description as string | undefined, ...limitsOf(resolved)],
    };
    const isList = resolved.type === 'array';
    const inner = objectIn(
      isList ? resolve((resolved.items ?? {}) as JsonSchema, schemas) : resolved,
      schemas,
    );
    if (level >= MAX_LEVEL || !inner.properties) return [row];
    return [row, ...bodyRows(inner, schemas, `${row.name}${isList ? '[]' : ''}.`, level + 1)];
  });
}

export function table(caption: string, rows: readonly Row[]): Html {
  if (rows.length === 0) return html``;
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Notes</th></tr></thead><tbody>${rows.map(
    (
      row,
    ) => html`<tr><th scope="row"><code>${row.name}</code>${row.required && html` <b class="required">required</b>`}</th>
<td>${row.type}</td><td>${inline(row.notes.filter(Boolean).join(' · ').replaceAll('. · ', '. '))}</td></tr>`,
  )}</tbody></table></div>`;
}

function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = componentName(schema.$ref);
  return name === undefined ? schema : ((schemas[name] ?? {}) as JsonSchema);
}

/** Of several shapes the first object: the others are shorthands of it. */
function objectIn(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (Array.isArray(schema.allOf)) return merge(schema.allOf.map((one) => resolve(one, schemas)));
  const branches = (schema.anyOf as JsonSchema[] | undefined)?.map((one) => resolve(one, schemas));
  return branches?.find((one) => one.type === 'object') ?? schema;
}

const merge = (parts: JsonSchema[]): JsonSchema => ({
  type: 'object',
  properties: Object.assign({}, ...parts.map((one) => one.properties)),
  required: parts.flatMap((one) => (one.required ?? []) as string[]),
});

function typeOf(schema: JsonSchema, schemas: Schemas): string {
  if (Array.isArray(schema.enum)) return schema.enum.map(String).join(' | ');
  if ('const' in schema) return String(schema.const);
  const branches = schema.anyOf as JsonSchema[] | undefined;
  if (branches)
    return [...new Set(branches.map((one) => typeOf(resolve(one, schemas), schemas)))].join(' or ');
  if (Array.isArray(schema.allOf)) return 'object';
  if (schema.type === 'array') {
    const item = typeOf(resolve((schema.items ?? {}) as JsonSchema, schemas), schemas);
    return `list of ${item}`;
  }
  if (schema.type === 'string' && typeof schema.format === 'string') return schema.format;
  return [schema.type ?? 'any'].flat().join(' or ');
}

function limitsOf(schema: JsonSchema): string[] {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems } = schema;
  return [
    // Lengths on the wire leave room for composition; a description that tells the real ones is the better answer.
    schema.description === undefined ? range(minLength, maxLength, 'characters') : '',
    range(minimum, maximum, ''),
    range(minItems, maxItems, 'items'),
    schema.default === undefined ? '' : `default \`${JSON.stringify(schema.default)}\``,
  ].filter((one) => one !== '');
}

function range(from: unknown, to: unknown, unit: string): string {
  if (from === undefined && to === undefined) return '';
  const number = (value: unknown) => Number(value).toLocaleString('en');
  if (to === undefined) return `at least ${number(from)} ${unit}`.trim();
  if (from === undefined) return `at most ${number(to)} ${unit}`.trim();
  return `${number(from)} to ${number(to)} ${unit}`.trim();
}
