// Compiles response schemas into serializers.
// It must not keep anything that depends on an instance: all instances in the process share the serializers.
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify';

const compile = SerializerSelector()();
const compiled = new Map<string, ReturnType<typeof compile>>();

/** Returns the serializer of a schema. It is compiled at its first use: that of all schemas would take a tenth of a start. */
export const compileSerializer: FastifySerializerCompiler<unknown> = (route) => {
  let serialize: ReturnType<typeof compile> | undefined;
  return (data) => {
    serialize ??= serializerOf(route);
    return serialize(data);
  };
};

/** Schemas that are equal in JSON share one, because compiling costs about 1 ms. Throws when the schema is invalid. */
function serializerOf(route: Parameters<FastifySerializerCompiler<unknown>>[0]): ReturnType<typeof compile> {
  const key = JSON.stringify(route.schema);
  const known = compiled.get(key);
  if (known) return known;
  const serialize = compile({ ...route, httpStatus: route.httpStatus ?? '' });
  compiled.set(key, serialize);
  return serialize;
}
