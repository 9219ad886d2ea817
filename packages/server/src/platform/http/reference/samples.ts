// Makes an example value for a schema: the schema's own examples first, then those of the contract by field name.
// The same schema always makes the same value.
import { fieldExamples } from '@castellan/contract/examples';
import type { JsonSchema } from './openapi.ts';
import { componentName } from './schemas.ts';

const ID = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
const TIMESTAMP = '2026-03-14T09:26:53.589Z';
// Trees in examples end here, with an empty list.
const MAX_DEPTH = 6;

export function createSampler(schemas: ReadonlyMap<string, JsonSchema>) {
  function sample(schema: JsonSchema, field = '', depth = 0): unknown {
    const name = componentName(schema.$ref);
    if (name !== undefined) return sample(schemas.get(name) ?? {}, field, depth);
    const whole = fieldExamples[String(schema.title)];
    if (whole !== undefined) return whole;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.examples)) return schema.examples[0];
    if (Array.isArray(schema.enum)) return schema.enum[0];
    if (Array.isArray(schema.allOf))
      return Object.assign({}, ...schema.allOf.map((one: JsonSchema) => sample(one, field, depth)));
    const branches = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
    if (branches) return sample(branches.find((one) => one.type !== 'null') ?? {}, field, depth);
    const known = fieldExamples[field];
    if (known !== undefined && fits(known, schema)) return known;
    return ofType(schema, field, depth);
  }

  function ofType(schema: JsonSchema, field: string, depth: number): unknown {
    switch ([schema.type].flat()[0]) {
      case 'object':
        return Object.fromEntries(
          Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, child]) => [
            name,
            // `Permission.name` is another name than `Role.name`.
            sample(
              child,
              `${schema.title}.${name}` in fieldExamples ? `${schema.title}.${name}` : name,
              depth + 1,
            ),
          ]),
        );
      case 'array':
        return depth >= MAX_DEPTH || !schema.items
          ? []
          : [sample(schema.items as JsonSchema, field, depth + 1)];
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
  return (schema.default as string | undefined) ?? (field.replaceAll('_', ' ') || 'text');
}

function fits(value: unknown, schema: JsonSchema): boolean {
  if (Array.isArray(value))
    return schema.type === 'array' && fits(value[0], (schema.items ?? {}) as JsonSchema);
  return schema.format === undefined && schema.type === typeof value;
}
