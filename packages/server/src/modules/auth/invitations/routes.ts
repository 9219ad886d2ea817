// HTTP of accepting an invitation, under /api/v1/auth. The rules are in the other files of this folder.
import {
  AcceptedInvitationEnvelope,
  AcceptInvitationBody,
  InvitationPasskeyBody,
} from '@castellan/contract/invitations';
import { NewPasskeyOptionsEnvelope } from '@castellan/contract/passkeys';
import type { App } from '../../../platform/http/server/server.ts';
import type { RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import { acceptInvitation } from './accept.ts';
import type { InvitationDeps } from './invited.ts';
import { beginAcceptance } from './passkey.ts';

export type InvitationRouteDeps = InvitationDeps & {
  settings: { rateLimitRegister: RateLimitRule | null; rateLimitPasskeyOptions: RateLimitRule | null };
};

const refusals = ['invitation_token_invalid', 'invalid_input', 'provider_required'] as const;

export function invitationRoutes(app: App, deps: InvitationRouteDeps): void {
  const { settings } = deps;

  app.route({
    method: 'POST',
    url: '/accept-invitation/passkey/options',
    config: {
      access: 'public',
      limit: { name: 'invitation-passkey-options', rule: settings.rateLimitPasskeyOptions },
      errors: [...refusals, 'passkeys_unavailable'],
    },
    schema: {
      summary: 'Begin to accept an invitation with a passkey',
      description:
        'Requires the token of the mail, which stays usable. The challenge counts for this link, for ten minutes.',
      body: InvitationPasskeyBody,
      response: { 200: NewPasskeyOptionsEnvelope },
    },
    handler: async (request) => {
      const { options, expiresAt } = await beginAcceptance(deps, request.client, request.body);
      return {
        data: { passkey: options, expires_at: expiresAt.toISOString() },
        message: 'Ask the browser for a new credential with these options.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/accept-invitation',
    config: {
      access: 'public',
      limit: { name: 'accept-invitation', rule: settings.rateLimitRegister },
      errors: [
        ...refusals,
        'password_rejected',
        'passkeys_unavailable',
        'passkey_refused',
        'passkey_taken',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: {
      summary: 'Accept an invitation',
      description:
        'Requires the token of the mail. Sets the first password, or stores the first passkey and returns recovery codes, and verifies the email address. It starts no session: sign in afterwards. The link stays usable after a refused password or passkey.',
      body: AcceptInvitationBody,
      response: { 200: AcceptedInvitationEnvelope },
    },
    handler: async (request) => ({
      data: await acceptInvitation(deps, request.client, request.body),
      message: 'Invitation accepted. You can sign in now.',
    }),
  });
}
