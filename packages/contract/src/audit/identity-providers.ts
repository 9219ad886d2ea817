// Identity providers: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import { IdentityProvider } from '../identity-providers/providers.ts';
import type { AuditActionEntry } from './entry.ts';
import {
  changed,
  count,
  created,
  deleted,
  fieldsOf,
  flag,
  optional,
  personal,
  text,
  userAgent,
} from './members.ts';

const {
  id,
  redirect_uri,
  post_logout_redirect_uri,
  backchannel_logout_uri,
  created_at,
  updated_at,
  created_by_id,
  ...provider
} = IdentityProvider.properties;
const providerFields = fieldsOf(provider);

export const identityProviderActions = {
  identity_provider_created: {
    about: ['identity_provider'],
    text: 'An identity provider was created. Secrets are not shown.',
    details: created(providerFields),
  },
  identity_provider_updated: {
    about: ['identity_provider'],
    text: 'An identity provider was changed. Secrets are not shown. details: secret_changed; identities, sessions: how many ended, because the issuer changed or because it was asked for.',
    details: {
      ...changed(providerFields),
      secret_changed: optional(flag),
      identities: optional(count),
      sessions: optional(count),
    },
  },
  identity_provider_deleted: {
    about: ['identity_provider'],
    text: 'An identity provider was deleted. details: identities, sessions: how many ended with it.',
    details: { ...deleted(providerFields), identities: count, sessions: count },
  },
  provider_sign_in_failed: {
    text: 'A sign-in with an identity provider failed. details: provider, reason, code.',
    failure: true,
    bounded: true,
    details: {
      email: optional(personal),
      provider: text,
      reason: text,
      code: optional(text),
      user_agent: userAgent,
    },
  },
} as const satisfies Record<string, AuditActionEntry>;
