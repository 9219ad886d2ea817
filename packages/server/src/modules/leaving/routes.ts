// HTTP of leaving: one's own data, the deletion of one's own account, and the link that undoes it.
import { DryRunQuery, OrPreview } from '@castellan/contract/access-changes';
import { MessageEnvelope } from '@castellan/contract/envelope';
import {
  DeleteMeBody,
  DeletionPlannedEnvelope,
  ErasedEnvelope,
  OwnDataEnvelope,
  UndoDeletionBody,
} from '@castellan/contract/leaving';
import { UserParams } from '@castellan/contract/users';
import { type Exports, sendDocument } from '../../platform/http/answers/export.ts';
import { hook } from '../../platform/http/hooks.ts';
import type { CookieSettings } from '../../platform/http/plugins/cookies.ts';
import type { App } from '../../platform/http/server/server.ts';
import { clearRefreshCookie, REFRESH_COOKIE } from '../auth/refresh-cookie.ts';
import { recordNamed } from '../authz/access-fields.ts';
import { callerOf, userCallerOf } from '../authz/caller.ts';
import { BROWSER_COOKIE, clearBrowserCookie } from '../sessions/browser/cookie.ts';
import { getVersionedUser } from '../users/service.ts';
import { type ErasureDeps, eraseUser, previewErasure } from './erasure.ts';
import { beginOwnExport, type OwnDataDeps } from './own-data.ts';
import { deleteOwnAccount, requireDays, type SelfDeletionDeps } from './self-deletion.ts';
import { type UndoDeps, undoDeletion } from './undo.ts';

type LeavingDeps = SelfDeletionDeps & OwnDataDeps & { ownExports: Exports; settings: CookieSettings };

/** Under /api/v1/users. */
export function leavingRoutes(app: App, deps: LeavingDeps): void {
  const { settings } = deps;
  app.route({
    method: 'GET',
    url: '/me/export',
    // A HEAD request would read everything and return no body.
    exposeHeadRoute: false,
    config: { access: 'user', errors: ['rate_limited', 'overloaded'] },
    schema: {
      summary: 'Download your data',
      description:
        'What the service keeps about you, as one document; once an hour. Read it without long pauses: an export whose reader takes nothing for 30 s is cut off.',
      response: { 200: OwnDataEnvelope },
    },
    handler: (request, reply) => {
      const caller = userCallerOf(request);
      return sendDocument(request, reply, {
        exports: deps.ownExports,
        callerId: caller.principal.id,
        fileName: 'my-data',
        begin: () => beginOwnExport(deps, caller),
      });
    },
  });

  app.route({
    method: 'DELETE',
    url: '/me',
    config: {
      access: 'user',
      invalidInput: 'invalid_input',
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: [
        'self_deletion_off',
        'step_up_required',
        'wrong_current_password',
        'account_locked',
        'last_superuser',
        'overloaded',
      ],
    },
    schema: {
      summary: 'Delete your account',
      description:
        'Where `SELF_DELETION_DAYS` allows it. Ends every session and all access at once, and mails a link that undoes it until the account is removed. After a change of the email address, the account stays at least until its former owner can no longer undo that. The last active superuser stays (409).',
      body: DeleteMeBody,
      response: { 202: DeletionPlannedEnvelope },
    },
    // Before the body is read: a caller who may not do this at all is not told about its fields.
    onRequest: hook(() => {
      requireDays(deps);
    }),
    handler: async (request, reply) => {
      const data = await deleteOwnAccount(deps, userCallerOf(request), request.body);
      clearRefreshCookie(reply, settings);
      clearBrowserCookie(reply, request.client, settings);
      reply.code(202);
      return {
        data,
        message: 'Your account is deactivated. Until it is removed, the link of the mail keeps it.',
      };
    },
  });
}

/** Under /api/v1/users. */
export function erasureRoute(app: App, deps: ErasureDeps): void {
  app.route({
    method: 'POST',
    url: '/:user_id/erase',
    config: {
      access: 'users.delete',
      errors: [
        'user_not_found',
        'self_delete',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'step_up_required',
        'precondition_failed',
        'last_superuser',
      ],
      statedOf: { kind: 'user', present: recordNamed('user_id', (id) => getVersionedUser(deps, id)) },
    },
    schema: {
      summary: 'Erase a user',
      description:
        'Deletes the account with its roles, and replaces the personal data in its audit entries by `erased`: addresses, names and networks. The entries and the ids in them stay. It takes every permission that the user holds. It cannot be undone.',
      params: UserParams,
      querystring: DryRunQuery,
      response: { 200: OrPreview(ErasedEnvelope) },
    },
    handler: async (request) => {
      const { user_id } = request.params;
      if (request.query.dry_run) return previewErasure(deps, callerOf(request), user_id);
      const data = await eraseUser(deps, callerOf(request), user_id);
      return {
        data,
        message: data.finished
          ? 'User erased.'
          : 'User deleted. The clean-up erases the rest of the audit entries.',
      };
    },
  });
}

/** Under /api/v1/auth. */
export function undoDeletionRoute(app: App, deps: UndoDeps): void {
  app.route({
    method: 'POST',
    url: '/undo-deletion',
    config: { access: 'public', errors: ['undo_token_invalid', 'overloaded'] },
    schema: {
      summary: 'Keep an account that its owner deleted',
      description:
        'Requires the token of the mail. The account is active again with its roles. It starts no session: sign in afterwards.',
      body: UndoDeletionBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await undoDeletion(deps, request.client, request.body.token);
      return { message: 'The account stays. You can sign in again.' };
    },
  });
}
