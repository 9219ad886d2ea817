// Moves schemas from routes into a document: each schema with a title becomes one component, which all uses reference.
// It must not change the originals, which validators and serializers use.
import { isSchema, type JsonSchema } from './types.ts';

export type Components = {
  /** Returns the schema as it is written in the document. */
  write(schema: JsonSchema): JsonSchema;
  /** By name; grows with every `write`. */
  schemas: Map<string, JsonSchema>;
};

const PREFIX = '#/components/schemas/';
// The values of these keywords are data, not schemas.
const dataKeywords = new Set(['const', 'default', 'enum', 'example', 'examples', 'required']);

export const componentName = (ref: unknown): string | undefined =>
  typeof ref === 'string' && ref.startsWith(PREFIX) ? ref.slice(PREFIX.length) : undefined;

/** Collects components. `write` throws when two different schemas have the same title. */
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
    // A recursive type consists of definitions and a reference to one of them.
    for (const [name, definition] of Object.entries(schema.$defs ?? {})) register(name, definition);
    if (typeof schema.$ref === 'string') return { $ref: `${PREFIX}${schema.$ref.replace(/^.*\//, '')}` };
    if (typeof schema.title === 'string') return register(schema.title, schema);
    return writeKeywords(schema);
  }

  function writeKeywords(schema: JsonSchema): JsonSchema {
    const written: JsonSchema = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === '$id' || keyword === '$defs') continue;
      if (dataKeywords.has(keyword)) written[keyword] = value;
      else if (keyword === 'properties') written.properties = writeMap(schema.properties ?? {});
      else if (keyword === 'patternProperties')
        written.additionalProperties = writeValue(Object.values(schema.patternProperties ?? {})[0]);
      else written[keyword] = writeValue(value);
    }
    return asEnum(written);
  }

  const writeMap = (map: Record<string, JsonSchema>): Record<string, JsonSchema> =>
    Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, write(schema)]));

  function writeValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(writeValue);
    return isSchema(value) ? write(value) : value;
  }

  return { write, schemas };
}

/** Turns a choice between constants of one type into an enumeration, which is easier to read. */
function asEnum(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || !anyOf.every((one) => 'const' in one && one.type === anyOf[0].type))
    return schema;
  return { type: anyOf[0].type, enum: anyOf.map((one) => one.const), ...rest };
}
