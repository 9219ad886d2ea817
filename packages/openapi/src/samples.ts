// Makes an example value for a schema: from the schema's own examples, else from those of the conventions by field
// name. The same schema always gives the same value.
import { componentName } from './schemas.ts';
import type { JsonSchema } from './types.ts';

const ID = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
const TIMESTAMP = '2026-03-14T09:26:53.589Z';
// Trees in examples end at this depth, with an empty list.
const MAX_DEPTH = 6;

/** Returns a function that makes the example. `schemas`: the components that references lead to. */
export function createSampler(
  schemas: ReadonlyMap<string, JsonSchema>,
  examples: Readonly<Record<string, unknown>>,
) {
  function sample(schema: JsonSchema, field = '', depth = 0): unknown {
    const name = componentName(schema.$ref);
    if (name !== undefined) return sample(schemas.get(name) ?? {}, field, depth);
    const whole = examples[String(schema.title)];
    if (whole !== undefined) return whole;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.examples)) return schema.examples[0];
    if (Array.isArray(schema.enum)) return schema.enum[0];
    if (Array.isArray(schema.allOf))
      return Object.assign({}, ...schema.allOf.map((one) => sample(one, field, depth)));
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches) return sample(branches.find((one) => one.type !== 'null') ?? {}, field, depth);
    const known = examples[field];
    if (known !== undefined && fits(known, schema)) return known;
    return ofType(schema, field, depth);
  }

  function ofType(schema: JsonSchema, field: string, depth: number): unknown {
    switch ([schema.type].flat()[0]) {
      case 'object':
        return Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([name, child]) => [
            name,
            // `Permission.name` and `Role.name` have different examples.
            sample(
              child,
              `${schema.title}.${name}` in examples ? `${schema.title}.${name}` : name,
              depth + 1,
            ),
          ]),
        );
      case 'array':
        return depth >= MAX_DEPTH || !schema.items ? [] : [sample(schema.items, field, depth + 1)];
      case 'integer':
      case 'number':
        return schema.default ?? schema.minimum ?? 1;
      case 'boolean':
        return schema.default ?? true;
      case 'string':
        return ofFormat(schema, field);
      default:
        return schema.default ?? null;
    }
  }
  return sample;
}

function ofFormat(schema: JsonSchema, field: string): string {
  if (schema.format === 'uuid') return ID;
  if (schema.format === 'date-time') return TIMESTAMP;
  return typeof schema.default === 'string' ? schema.default : field.replaceAll('_', ' ') || 'text';
}

function fits(value: unknown, schema: JsonSchema): boolean {
  if (Array.isArray(value)) return schema.type === 'array' && fits(value[0], schema.items ?? {});
  return schema.format === undefined && schema.type === typeof value;
}
