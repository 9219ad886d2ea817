// The accounts, sessions and tokens of the stand-in.
import type { User } from '../api.ts';
import { isPersonalToken, makeKey, PERSONAL_MARK } from '../guard/api-key.ts';
import type { Requirement } from '../guard/requirement.ts';
import type { Acr } from '../levels.ts';
import { type Context, claimsOf } from './contexts.ts';
import { canonicalEmail, shownEmail } from './emails.ts';
import { type Factors, SecondSteps } from './factors.ts';
import { Feed } from './feed.ts';
import { createSigner } from './signing.ts';

const ISSUER = 'http://castellan.test';
const TOKEN_SECONDS = 1_800;
const APPLICATION_TOKEN_SECONDS = 300;
const PERSONAL_TOKEN_SECONDS = 86_400;

export type Account = {
  id: string;
  type: 'user' | 'service_account';
  /** The canonical email of a user, the name of a service account. */
  name: string;
  permissions: Set<string>;
  isActive: boolean;
  /** Of users. */
  password: string;
  isVerified: boolean;
  firstName: string;
  lastName: string;
  createdAt: string;
  /** Of users with a second factor. */
  factors?: Factors | undefined;
};

/** `only`: what a token is narrowed to. */
export type Token = { account: Account; claims: Claims; only?: ReadonlySet<string> | undefined };
type Claims = {
  sub: string;
  jti: string;
  iat: number;
  exp?: number;
  iss: string;
  aud: string;
  client_id: string;
  scope?: string;
  sid?: string;
  acr?: Acr;
  amr?: readonly string[];
  auth_time?: number;
  act?: { sub: string };
};
/** What a refresh token continues. Its context goes into new access tokens. */
type Session = { id: string; account: Account; context: Context };

const newId = (): string => crypto.randomUUID();

export class Accounts {
  readonly #signer = createSigner('EdDSA');
  readonly #signerOfApplications = createSigner('ES256');
  readonly #accounts = new Map<string, Account>();
  readonly #tokens = new Map<string, Token>();
  /** Live sessions by refresh token. */
  readonly #sessions = new Map<string, Session>();

  /** What permissions require of people, by their names in lower case. */
  readonly requirements = new Map<string, Requirement>();

  readonly secondSteps = new SecondSteps<Account>();

  readonly feed = new Feed();

  keySet = (): Promise<object> => this.#signer.keySet();

  /** Takes an email in any spelling. Throws if the name is taken. */
  add(account: Omit<Account, 'id' | 'createdAt' | 'isActive'>): Account {
    const { type } = account;
    if (this.find(type, account.name)) throw new Error(`There is already an account ${account.name}.`);
    const name = type === 'user' ? canonicalEmail(account.name) : account.name;
    const added = { ...account, name, id: newId(), createdAt: new Date().toISOString(), isActive: true };
    this.#accounts.set(added.id, added);
    return added;
  }

  /** Finds an account by its id, by its email in any spelling, or by its name ignoring case. */
  find(type: string, id: string): Account | undefined {
    const name = type === 'user' ? canonicalEmail(id) : id.trim().toLowerCase();
    return [...this.#accounts.values()].find(
      (one) => one.type === type && (one.id === id || one.name.toLowerCase() === name),
    );
  }

  /** Returns the access token of a session in which somebody acts as the account. Throws for an inactive one of either. */
  async actAs(account: Account, actor: Account): Promise<string> {
    for (const one of [account, actor])
      if (!one.isActive)
        throw new Error(`${one.name} is deactivated: nobody can act as them, nor they as anybody.`);
    const session: Session = { id: newId(), account, context: null };
    this.#sessions.set(newId(), session);
    return this.#issue(session, { act: { sub: actor.id } });
  }

  /** Returns a personal access token for a day, narrowed to `only`. */
  addPersonalToken(account: Account, only: readonly string[] | undefined): string {
    const token = makeKey(PERSONAL_MARK);
    const claims = { ...this.#claims(account), exp: Math.floor(Date.now() / 1_000) + PERSONAL_TOKEN_SECONDS };
    this.#tokens.set(token, { account, claims, only: only && new Set(only.map((one) => one.toLowerCase())) });
    return token;
  }

  /** Ends the personal access tokens of an account. */
  endPersonalTokens(account: Account): void {
    for (const [token, found] of this.#tokens)
      if (found.account === account && isPersonalToken(token)) this.revokeToken(token);
  }

  /** Returns the access token and the refresh token of a new session. Throws for an inactive account. */
  async signIn(account: Account, context: Context = null): Promise<{ access: string; refresh: string }> {
    if (!account.isActive) throw new Error(`${account.name} is deactivated and cannot sign in.`);
    return this.#start({ id: newId(), account, context });
  }

  /** Returns new tokens of the session of an access token. Earlier ones keep their context. */
  stepUp({ account, claims }: Token, context: Context): Promise<{ access: string; refresh: string }> {
    return this.#start({ id: claims.sid ?? '', account, context });
  }

  async #start(session: Session): Promise<{ access: string; refresh: string }> {
    const refresh = newId();
    this.#sessions.set(refresh, session);
    return { access: await this.#issue(session), refresh };
  }

  /** Returns undefined if there is no live session with this refresh token. */
  async renew(refresh: string): Promise<string | undefined> {
    const session = this.#sessions.get(refresh);
    return session && this.#issue(session);
  }

  addKey(account: Account): string {
    const key = makeKey();
    this.#tokens.set(key, { account, claims: this.#claims(account) });
    return key;
  }

  /** Returns a token that an application got for an API, as long as its user's session lives. Throws for an inactive account. */
  async issueToApplication(
    account: Account,
    { clientId, audience, scopes }: { clientId: string; audience: string; scopes: readonly string[] },
  ): Promise<string> {
    if (!account.isActive) throw new Error(`${account.name} is deactivated and cannot sign in.`);
    const session: Session = { id: newId(), account, context: null };
    this.#sessions.set(newId(), session);
    const claims = {
      ...this.#claims(account),
      sid: session.id,
      aud: audience,
      client_id: clientId,
      exp: Math.floor(Date.now() / 1_000) + APPLICATION_TOKEN_SECONDS,
      scope: scopes.join(' '),
    };
    const token = await this.#signerOfApplications.sign(claims);
    this.#tokens.set(token, { account, claims });
    return token;
  }

  /** Returns whose live token this is. One of an application opens no operation. */
  inspect(token: string): Token | undefined {
    const found = this.inspectAny(token);
    return found?.claims.scope === undefined ? found : undefined;
  }

  /** As `inspect`, tokens of applications included. */
  inspectAny(token: string): Token | undefined {
    const found = this.#tokens.get(token);
    const isCurrent = found && (found.claims.exp ?? Number.POSITIVE_INFINITY) * 1_000 > Date.now();
    return isCurrent && found.account.isActive ? found : undefined;
  }

  endSession(id: string): void {
    for (const [refresh, session] of this.#sessions) if (session.id === id) this.#sessions.delete(refresh);
    for (const [token, { claims }] of this.#tokens) if (claims.sid === id) this.#tokens.delete(token);
    this.feed.changed({ type: 'session', id });
  }

  /** Changes what an account may do, or whether it counts. */
  change(account: Account, change: (account: Account) => void): void {
    change(account);
    this.feed.changed({ type: account.type, id: account.id });
  }

  /** Makes a permission require a proof of people; null ends that. */
  require(permission: string, requirement: Requirement | null): void {
    const name = permission.toLowerCase();
    if (requirement) this.requirements.set(name, requirement);
    else this.requirements.delete(name);
    this.feed.changed({ type: 'graph', id: newId(), role_ids: [], permission_ids: [newId()] });
  }

  endSessions(account: Account): void {
    this.secondSteps.end(account);
    for (const session of [...this.#sessions.values()])
      if (session.account === account) this.endSession(session.id);
  }

  /** Ends an access token alone, or the session of a refresh token. API keys are not revoked here. */
  revokeToken(token: string): void {
    const found = this.#tokens.get(token);
    if (found?.account.type === 'user') {
      this.#tokens.delete(token);
      this.feed.changed({ type: 'token', id: found.claims.jti });
    }
    const session = this.#sessions.get(token);
    if (session) this.endSession(session.id);
  }

  async #issue({ id, account, context }: Session, more: Pick<Claims, 'act'> = {}): Promise<string> {
    const exp = Math.floor(Date.now() / 1_000) + TOKEN_SECONDS;
    const claims = { ...this.#claims(account), sid: id, exp, ...claimsOf(context), ...more };
    const token = await this.#signer.sign(claims);
    this.#tokens.set(token, { account, claims });
    return token;
  }

  #claims({ id, type }: Account): Claims {
    const now = Math.floor(Date.now() / 1_000);
    const client_id = type === 'user' ? 'castellan' : id;
    return { sub: id, jti: newId(), iat: now, iss: ISSUER, aud: ISSUER, client_id };
  }
}

/** Returns the email or the name as the service shows it. */
export const shownName = ({ type, name }: Account): string => (type === 'user' ? shownEmail(name) : name);

/** Returns the account as `GET /users/me` does. */
export const userOf = (account: Account): User => ({
  id: account.id,
  email: shownName(account),
  first_name: account.firstName,
  last_name: account.lastName,
  is_active: account.isActive,
  is_superuser: false,
  verified: account.isVerified,
  must_change_password: false,
  external_id: null,
  invited_at: null,
  deletion_due_at: null,
  roles: [],
  permissions: [...account.permissions].sort(),
  created_at: account.createdAt,
  updated_at: account.createdAt,
});
