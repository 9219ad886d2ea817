// Moves schemas from routes into a document: each titled one once, under components, referenced wherever it is used.
// It must not touch the originals: the validators and serializers work on them.
import type { JsonSchema } from './openapi.ts';

export type Components = {
  /** The schema as it stands in the document. */
  write(schema: JsonSchema): JsonSchema;
  /** By name; grows with every `write`. */
  schemas: Map<string, JsonSchema>;
};

const PREFIX = '#/components/schemas/';
// Their values are data, not schemas.
const DATA_KEYWORDS = new Set(['const', 'default', 'enum', 'example', 'examples', 'required']);

export const componentName = (ref: unknown): string | undefined =>
  typeof ref === 'string' && ref.startsWith(PREFIX) ? ref.slice(PREFIX.length) : undefined;

/** Throws when two different schemas bear one title. */
export function createComponents(): Components {
  const schemas = new Map<string, JsonSchema>();
  const sources = new Map<string, string>();

  function register(title: string, schema: JsonSchema): JsonSchema {
    const name = title.replaceAll(/[^\w.-]/g, '');
    const source = JSON.stringify(schema);
    const known = sources.get(name);
    if (known !== undefined && known !== source)
      throw new Error(`two different schemas are titled "${name}"`);
    if (known === undefined) {
      sources.set(name, source);
      schemas.set(name, writeKeywords(schema));
    }
    return { $ref: `${PREFIX}${name}` };
  }

  function write(schema: JsonSchema): JsonSchema {
    // A recursive type: its definitions stand beside a reference to one of them.
    for (const [name, definition] of Object.entries((schema.$defs ?? {}) as Record<string, JsonSchema>))
      register(name, definition);
    if (typeof schema.$ref === 'string') return { $ref: `${PREFIX}${schema.$ref.replace(/^.*\//, '')}` };
    if (typeof schema.title === 'string') return register(schema.title, schema);
    return writeKeywords(schema);
  }

  function writeKeywords(schema: JsonSchema): JsonSchema {
    const written: JsonSchema = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === '$id' || keyword === '$defs') continue;
      if (DATA_KEYWORDS.has(keyword)) written[keyword] = value;
      else if (keyword === 'properties') written[keyword] = writeMap(value as Record<string, JsonSchema>);
      else if (keyword === 'patternProperties')
        written.additionalProperties = writeValue(Object.values(value as object)[0]);
      else written[keyword] = writeValue(value);
    }
    return asEnum(written);
  }

  const writeMap = (map: Record<string, JsonSchema>): Record<string, JsonSchema> =>
    Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, write(schema)]));

  function writeValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(writeValue);
    return typeof value === 'object' && value !== null ? write(value as JsonSchema) : value;
  }

  return { write, schemas };
}

/** A choice between constants of one type reads better as an enumeration. */
function asEnum(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || !anyOf.every((one) => 'const' in one && one.type === anyOf[0].type))
    return schema;
  return { type: anyOf[0].type, enum: anyOf.map((one) => one.const), ...rest };
}
