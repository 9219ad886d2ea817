// Compiles response schemas into serializers.
// It must not keep anything that depends on an instance: all instances in the process share the serializers.
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify';

const compile = SerializerSelector()();
const compiled = new Map<string, ReturnType<typeof compile>>();

/** Returns the serializer of a schema; schemas that are equal in JSON share one. Throws when the schema is invalid. */
export const compileSerializer: FastifySerializerCompiler<unknown> = (route) => {
  // Compiling costs about 1 ms; most routes answer with a few envelopes.
  const key = JSON.stringify(route.schema);
  const known = compiled.get(key);
  if (known) return known;
  const serialize = compile({ ...route, httpStatus: route.httpStatus ?? '' });
  compiled.set(key, serialize);
  return serialize;
};
