// The error codes of an operation: those it declares and those that its access, method and shape imply.
// It must not name a code that only a refused connection or an unknown path gets.
import type { Conventions } from './conventions.ts';
import { isPersonal, type RouteFacts, requiresPermission } from './route-facts.ts';
import { isSchema, type JsonSchema } from './types.ts';

/** Returns the codes as the route answers them, each once, in the order of the catalogue. Throws when the catalogue lacks a code. */
export function errorCodesOf(route: RouteFacts, { errors, implied }: Conventions): string[] {
  const isGuarded = route.access !== 'public';
  const codes = new Set<string>([...route.errors, ...implied.always]);
  const add = (condition: boolean, more: readonly string[]) => {
    if (condition) for (const code of more) codes.add(code);
  };
  add(route.csrf, implied.csrf);
  add(isGuarded, implied.signedIn);
  add(requiresPermission(route) || route.othersNeed !== null, implied.permission);
  add(isPersonal(route), implied.personal);
  add(route.limit !== null, implied.limited);
  add(route.body !== undefined, [...implied.body, route.otherMedia]);
  add(route.body !== undefined || hasProperties(route.query), [route.invalidInput]);
  add(route.idempotent, implied.idempotent);
  add([route.body, route.params, route.query].some(hasUuid), implied.uuid);
  for (const [start, more] of Object.entries(implied.below)) add(route.url.startsWith(start), more);
  const unknown = [...codes].find((code) => !(code in errors));
  if (unknown !== undefined)
    throw new Error(`${route.method} ${route.url}: no error has the code "${unknown}"`);
  const { failure } = route;
  const sent = failure ? new Set(Array.from(codes, (code) => failure.codeOf(code))) : codes;
  return Object.keys(errors).filter((code) => sent.has(code));
}

function statusOf(code: string, errors: Conventions['errors']): number {
  const [status] = errors[code] ?? [];
  if (status === undefined) throw new Error(`no error has the code "${code}"`);
  return status;
}

/** Groups codes by status, ascending. Throws when the catalogue lacks a code. */
export function byStatus(
  codes: readonly string[],
  { errors }: Conventions,
): [status: number, codes: string[]][] {
  const groups = Map.groupBy(codes, (code) => statusOf(code, errors));
  return [...groups].sort(([a], [b]) => a - b);
}

const hasProperties = (schema: JsonSchema | undefined): boolean =>
  Object.keys(schema?.properties ?? {}).length > 0;

function hasUuid(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasUuid);
  return isSchema(schema) && (schema.format === 'uuid' || Object.values(schema).some(hasUuid));
}
