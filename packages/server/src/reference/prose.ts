// The general texts of the API reference: how to call the service, and one sentence per tag.
// It must not repeat what the entry of an operation says.

const description = `
Accounts, sessions and role-based access control behind one JSON API.

## Success and failure

A success is \`{"data": …, "message": "…"}\`. A failure is \`{"detail": …, "code": "…", "request_id": "…"}\`, with
\`errors\` when individual fields are wrong. Switch on \`code\`: it never changes its meaning. Show \`detail\` to people.
Every response carries \`X-Request-ID\`; quote it when you report a problem. With \`Accept: application/problem+json\`,
failures have the format of RFC 9457.

The operations under \`/api/v1/oauth\` have the shapes of OAuth 2.0 instead: they take forms, answer without an envelope,
and fail with \`{"error": …, "error_description": …}\`.

## Sign in

- Get a CSRF token: \`GET /api/v1/auth/csrf-token\`. Keep the cookie that it sets.
- Send the token as \`X-CSRF-Token\` with every POST, PUT, PATCH and DELETE. It is valid for 8 hours and only with this cookie.
- \`POST /api/v1/auth/login\` returns an access token. Send it as \`Authorization: Bearer …\`.
- When it has expired (401 \`token_expired\`), get the next one from \`/api/v1/auth/new_access_token\` (browsers: the
  refresh cookie is sent automatically) or \`/api/v1/auth/refresh\` (programs: exchange the refresh token).

## Order of checks

CSRF token (403), sign-in (401), required password change (403), permission (403), shape (400 or 422), record (404),
conflict (409). A caller without the permission gets the same response whether or not the record exists.

## Lists

Lists take \`page\` (from 1) and \`size\` (1 to 100, default 50). A page past the end is empty and has the true totals.
Ids are UUIDs, timestamps are ISO 8601 in UTC.
`.trim();

const tags: Readonly<Record<string, string>> = {
  Auth: 'Register, sign in, stay signed in, sign out.',
  Users: 'Accounts and their roles.',
  'User attributes': 'What your products keep about people beside names.',
  'Service accounts': 'Programs that call the service, and their API keys.',
  'Api resources': 'APIs that access tokens of applications are made for.',
  'Identity providers': 'Issuers that people come from.',
  Applications: 'Services that people sign in to, and their secrets.',
  Sessions: 'Sign-ins of all users, for administrators.',
  Roles: 'Named sets of permissions.',
  'Role groups': 'The tree that sorts roles.',
  Permissions: 'Names of what a user may be allowed to do.',
  'Permission groups': 'The tree that sorts permissions.',
  Decisions: 'Whether somebody may do something, for other services: OpenID AuthZEN 1.0.',
  OAuth: 'Access tokens for programs; for other services, what a token is worth.',
  Access: 'Explanations of access, and changes of it with a preview.',
  Dashboard: 'Figures for a start page.',
  Webhooks: 'Endpoints that are told what the audit log records.',
  'Audit logs': 'Who did what, when, from where.',
  Settings: 'How the service is configured.',
  Authentication: 'What the settings, roles and permissions require of sign-ins.',
  Health: 'Probes for load balancers and supervisors.',
  'Well known': 'Public data at fixed paths.',
};

export const referenceProse = { description, tags };
