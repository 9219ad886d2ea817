// Makes the operation id from method and path: `PUT /users/{user_id}` is `updateUser`. `schema.operationId` replaces
// it. Generated clients depend on the ids, so these rules must not change for existing paths.
import type { RouteFacts } from './route-facts.ts';
import type { JsonSchema } from './types.ts';

/** Returns the id of an operation, in camelCase. */
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

/** Returns the verb; empty for actions: `POST /auth/login` is `authLogin`. */
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
  const data = answer?.properties?.data;
  return data?.type === 'array' || 'items' in (data?.properties ?? {});
}

const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/s$/, '');

const camelCase = (words: string[]): string =>
  words
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .filter(Boolean)
    .map((word, at) => (at === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('');
