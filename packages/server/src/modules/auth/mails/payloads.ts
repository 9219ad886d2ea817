// What the outbox rows of account mails hold, by kind.
// It must not hold a secret: tokens are made when the mail is written.

type Addressed = { email: string };

/** Something that concerns the sign-in of an account, and from where it was done. */
export type SecurityEvent = Addressed & {
  /** The time of the event in ISO 8601. */
  at: string;
  /** As `networkOf` returns it; empty if there is none, as on the command line. */
  network: string;
  user_agent: string | null;
};

/** `factor`: the name of a passkey or security key, or `app`. */
type FactorEvent = SecurityEvent & { factor?: string };

/** `provider`: the name of an identity provider. */
type IdentityEvent = SecurityEvent & { provider?: string };

/** `token`: the name of a personal access token. */
type TokenEvent = SecurityEvent & { token?: string };

/** `change`: the id of the change of the address. The mail is about its account, whatever the email is by then. */
type EmailChangeEvent = SecurityEvent & { change: string };

/** Kind of a mail → what its row holds. */
export type MailPayloads = {
  verification: Addressed;
  password_reset: Addressed;
  account_locked: Addressed;
  /** `counted`: the request that queued it has counted it for the limit of the email. */
  invitation: Addressed & { counted?: true };
  second_factor_added: FactorEvent;
  second_factor_removed: FactorEvent;
  /**
   * Queue it after the links of the account were ended. `deliver: 'show'`: the administrator hands over the link, and the
   * mail has none.
   */
  second_factor_reset: SecurityEvent & { deliver?: 'mail' | 'show' };
  /** `left`: how many recovery codes are left. */
  recovery_code_used: SecurityEvent & { left?: number };
  second_factor_attack: SecurityEvent;
  app_suspended: SecurityEvent;
  new_sign_in: SecurityEvent;
  personal_token_created: TokenEvent;
  identity_connected: IdentityEvent;
  identity_disconnected: IdentityEvent;
  /** `minutes`: for how long somebody acts as the owner. */
  acted_as: SecurityEvent & { minutes?: number };
  account_made: IdentityEvent;
  account_taken_over: IdentityEvent;
  /** To the new address. Its `email` is the present one of the account. */
  email_change: EmailChangeEvent;
  email_change_requested: SecurityEvent & { new_email?: string };
  /** To the former address. Its `email` is the new one. */
  email_changed: EmailChangeEvent;
  /** `sign_in`: the key of the sign-in that waits for the code, in hexadecimal. */
  provider_code: SecurityEvent & { sign_in: string };
  /** To the creator of a webhook and to superusers. `webhook`: its name. */
  webhook_paused: SecurityEvent & { webhook?: string; reason?: 'failing' | 'gone' };
  /** Queue it after the account was deactivated and its links were ended. */
  deletion_planned: SecurityEvent;
};
export type MailKind = keyof MailPayloads;

/** Kinds that warn the owner of an account about its sign-in. */
export type WarningKind = Exclude<
  MailKind,
  | 'verification'
  | 'password_reset'
  | 'account_locked'
  | 'invitation'
  | 'provider_code'
  | 'email_change'
  | 'email_changed'
  | 'deletion_planned'
>;

export type Warning = {
  at: Date;
  network: string;
  userAgent: string | null;
  factor: string;
  provider: string;
  token: string;
  webhook: string;
  /** Of a pause. */
  reason: string;
  newEmail: string;
  left: number | null;
  minutes: number | null;
  isLinkShown: boolean;
};

/** Reads the email and the link epoch of an outbox row. Throws if it has no email. */
export function readPayload(payload: unknown): { email: string; linkEpoch: number } {
  const fields = fieldsOf(payload);
  const [email, linkEpoch] = [fields.get('email'), fields.get('link_epoch')];
  if (typeof email !== 'string') throw new Error('the mail has no email');
  // Rows of an earlier version have no epoch. 0 is the epoch of an account that no administrator has changed.
  return { email, linkEpoch: typeof linkEpoch === 'number' ? linkEpoch : 0 };
}

/** Returns whether the mail of an invitation was counted when it was queued. */
export const isCounted = (payload: unknown): boolean => fieldsOf(payload).get('counted') === true;

/** Reads what a warning says. Throws if it has no time. */
export function readWarning(payload: unknown): Warning {
  const fields = fieldsOf(payload);
  const text = (name: string): string | null => {
    const value = fields.get(name);
    return typeof value === 'string' ? value : null;
  };
  const at = new Date(text('at') ?? '');
  if (Number.isNaN(at.getTime())) throw new Error('the mail has no time');
  const number = (name: string): number | null => {
    const value = fields.get(name);
    return typeof value === 'number' ? value : null;
  };
  return {
    at,
    network: text('network') ?? '',
    userAgent: text('user_agent'),
    factor: text('factor') ?? '',
    provider: text('provider') ?? '',
    token: text('token') ?? '',
    webhook: text('webhook') ?? '',
    reason: text('reason') ?? '',
    newEmail: text('new_email') ?? '',
    left: number('left'),
    minutes: number('minutes'),
    isLinkShown: text('deliver') === 'show',
  };
}

/** Reads the key of the sign-in that a code is for. Throws if there is none. */
export function readSignIn(payload: unknown): string {
  const signIn = fieldsOf(payload).get('sign_in');
  if (typeof signIn !== 'string') throw new Error('the mail has no sign-in');
  return signIn;
}

/** Reads the id of the change of an address. Throws if there is none. */
export function readEmailChange(payload: unknown): string {
  const change = fieldsOf(payload).get('change');
  if (typeof change !== 'string') throw new Error('the mail has no change of an email');
  return change;
}

function fieldsOf(payload: unknown): ReadonlyMap<string, unknown> {
  if (typeof payload !== 'object' || payload === null) throw new Error('the mail has no payload');
  return new Map<string, unknown>(Object.entries(payload));
}
