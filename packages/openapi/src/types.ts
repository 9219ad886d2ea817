// Types of the parts of an OpenAPI 3.1 document that the builder writes and reads.

/** A JSON schema. Keywords that the builder reads have their types of JSON Schema; all others are unknown. */
export type JsonSchema = {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  title?: string;
  type?: string | readonly string[];
  format?: string;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  allOf?: readonly JsonSchema[];
  enum?: readonly unknown[];
  examples?: readonly unknown[];
  /** Schemas by media type: how a Fastify route declares a response that is not JSON. */
  content?: Record<string, { schema: JsonSchema }>;
  [keyword: string]: unknown;
};

/** Whether the value can be a schema. Its keywords are not checked. */
export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the value as a schema, for schemas that a library types in its own way. Throws TypeError if it is no object.
 */
export function schemaOf(value: unknown): JsonSchema {
  if (!isSchema(value)) throw new TypeError('a JSON schema must be an object');
  return value;
}

export type Ref = { $ref: string };

export type MediaType = {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, Ref | { value: unknown }>;
};

export type Answer = {
  description: string;
  headers?: Record<string, Ref | { description: string; schema: JsonSchema }>;
  content?: Record<string, MediaType>;
  'x-error-codes'?: readonly string[];
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
};

export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: readonly string[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, Answer | Ref>;
  security: Record<string, string[]>[];
  /** `public`, `authenticated`, or the name of a permission. */
  'x-access': string;
  'x-permission'?: string;
  'x-permission-for-others'?: string;
  'x-rate-limit'?: { limit: number; window_seconds: number };
};

export type OpenApiDocument = {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: unknown[];
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    responses: Record<string, Answer>;
    schemas: Record<string, JsonSchema>;
    securitySchemes: Record<string, unknown>;
    headers: Record<string, unknown>;
    examples: Record<string, unknown>;
  };
};
