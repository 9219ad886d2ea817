// What the reference says beyond the operations: how to call this service at all, and one sentence per noun.
// It must not repeat what an operation's own entry says.

const description = `
Accounts, sessions and role-based access control behind one JSON API.

## Success and failure

A success is \`{"data": …, "message": "…"}\`. A failure is \`{"detail": …, "code": "…", "request_id": "…"}\`, with
\`errors\` when single fields are at fault. Switch on \`code\`: it never changes its meaning. Show \`detail\` to people.
Every answer carries \`X-Request-ID\`; quote it when you ask for help. With \`Accept: application/problem+json\` a failure
arrives as RFC 9457.

## Signing in

- Get a CSRF token: \`GET /api/v1/auth/csrf-token\`. Keep the cookie that comes with it.
- Send the token as \`X-CSRF-Token\` with every POST, PUT and DELETE. It is good for 8 hours, for this cookie only.
- \`POST /api/v1/auth/login\` answers an access token. Send it as \`Authorization: Bearer …\`.
- When it has expired (401, \`token_expired\`), get the next one from \`/api/v1/auth/new_access_token\` (browsers: the
  refresh cookie is sent by itself) or \`/api/v1/auth/refresh\` (programs: exchange the refresh token).

## Order of checks

CSRF (403), then sign-in (401), permission (403), shape (400 or 422), record (404), conflict (409). What you may not see
answers the same whether it exists or not.

## Lists

Lists take \`page\` (from 1) and \`size\` (1 to 100, default 50). A page past the end is empty and carries the true totals.
Ids are UUIDs, timestamps are ISO 8601 in UTC.
`.trim();

const tags: Readonly<Record<string, string>> = {
  Auth: 'Open an account, sign in, stay signed in, sign out.',
  Users: 'Accounts and the roles they hold.',
  Roles: 'Named sets of permissions.',
  'Role groups': 'The hierarchy that roles are sorted into.',
  Permissions: 'What may be done, one name each.',
  'Permission groups': 'The hierarchy that permissions are sorted into.',
  Dashboard: 'Figures for the start page.',
  'Audit logs': 'Who did what, when, from where.',
  Health: 'Probes for whoever supervises the service.',
  'Well known': 'Public facts at fixed addresses.',
};

export const referenceProse = { description, tags };
