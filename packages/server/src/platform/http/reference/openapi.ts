// The parts of an OpenAPI 3.1 document that we write and read, as types.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Access } from '@castellan/contract/permissions';

export type JsonSchema = { [keyword: string]: unknown };
export type Ref = { $ref: string };

export type MediaType = { schema: JsonSchema; example?: unknown; examples?: Record<string, Ref> };

export type Answer = {
  description: string;
  headers?: Record<string, Ref | { description: string; schema: JsonSchema }>;
  content?: Record<string, MediaType>;
  'x-error-codes'?: readonly ErrorCode[];
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
  'x-access': Access;
  'x-permission'?: string;
  'x-rate-limit'?: { limit: number; window_seconds: number };
};

export type OpenApiDocument = {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: unknown[];
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
};
