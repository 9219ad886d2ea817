// The public API: the builder, what it takes, and what it returns.
export type { Conventions, ImpliedErrors } from './conventions.ts';
export { completeDocument, type Draft, FACTS, isDraft } from './document.ts';
export type { FailureShape, RouteFacts } from './route-facts.ts';
export { createSampler } from './samples.ts';
export { answersOf } from './shared-answers.ts';
export {
  type Answer,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  schemaOf,
} from './types.ts';
