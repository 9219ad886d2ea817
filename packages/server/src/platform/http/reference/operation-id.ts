// Names operations by method and path: `PUT /users/{user_id}` is `updateUser`. A route may name itself (schema.operationId).
// Names are part of the contract of generated clients: the rules here must not change for paths that exist.
import type { JsonSchema } from './openapi.ts';
import type { RouteFacts } from './route-facts.ts';

export function operationIdOf(route: RouteFacts): string {
  if (route.operationId !== undefined) return route.operationId;
  const segments = route.url
    .replace(/^\/api\/v\d+/, '')
    .split('/')
    .filter(Boolean);
  const isSingleRecord = segments.at(-1)?.startsWith(':') ?? false;
  const verb = verbOf(route, segments, isSingleRecord);
  const words = segments.flatMap((segment, at) => {
    if (segment.startsWith(':')) return [];
    const meansOne = segments[at + 1]?.startsWith(':') || (verb === 'create' && segments.length === 1);
    return [meansOne ? singular(segment) : segment];
  });
  return camelCase([verb, ...words]);
}

/** Empty for actions: `POST /auth/login` is `authLogin`. */
function verbOf(route: RouteFacts, segments: string[], isSingleRecord: boolean): string {
  switch (route.method) {
    case 'GET':
      return !isSingleRecord && answersList(route.answers['200']) ? 'list' : 'get';
    case 'PUT':
    case 'PATCH':
      return 'update';
    case 'DELETE':
      return 'delete';
    default:
      if (segments.length === 1 || segments.at(-1) === 'bulk') return '201' in route.answers ? 'create' : '';
      return segments.at(-2)?.startsWith(':') && segments.at(-1)?.endsWith('s') ? 'assign' : '';
  }
}

function answersList(answer: JsonSchema | undefined): boolean {
  const data = (answer?.properties as Record<string, JsonSchema> | undefined)?.data;
  return data?.type === 'array' || 'items' in ((data?.properties as object | undefined) ?? {});
}

const singular = (word: string): string => word.replace(/s$/, '');

const camelCase = (words: string[]): string =>
  words
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .filter(Boolean)
    .map((word, at) => (at === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('');
