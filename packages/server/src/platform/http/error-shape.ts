// The type of an error shape: how a route answers errors where a standard fixes status and body.
// It must not name a standard: the module of the route does.
import type { ErrorCode } from '@castellan/contract/errors';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { AppError } from '../errors.ts';

export type ErrorShape = {
  /** Schema of the body. It needs a title. */
  schema: TSchema;
  /** Returns the code as which an error is answered. It decides the status. */
  codeOf(code: ErrorCode): ErrorCode;
  /** Returns the body; `code` comes from `codeOf`. */
  bodyOf(code: ErrorCode, error: AppError): unknown;
  /** Returns headers that replace those of other errors. Those that an error brings itself replace them. */
  headersOf(code: ErrorCode, request: FastifyRequest, error: AppError): Record<string, string>;
};
