// Which operations stay the user's own while somebody acts as the user.
// The rule is one of methods and paths, so that it covers an operation that is added later. It must not name single operations.
import type { Access } from '@castellan/contract/permissions';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const AUTH = '/api/v1/auth/';
const OWN_RECORD = '/api/v1/users/me';
const LOGOUT = 'POST /api/v1/auth/logout';

/**
 * Returns whether an operation concerns how an account is entered or what it is: everything about signing in, every write of a
 * person about themselves, the export of their data, and acting as somebody.
 */
export function isForTheUserAlone({
  method,
  url,
  access,
}: {
  method: string;
  url: string;
  access: Access;
}): boolean {
  if (access === 'public' || `${method} ${url}` === LOGOUT) return false;
  if (url.startsWith(AUTH) || access === 'users.act_as') return true;
  const isOwn = url === OWN_RECORD || url.startsWith(`${OWN_RECORD}/`);
  if (safeMethods.has(method)) return isOwn && url.endsWith('/export');
  return isOwn || access === 'user' || access.startsWith('self.');
}
