// The session of a browser: its access token, in memory only, and one refresh at a time for all requests and tabs.
// It must not send requests itself: it is given the exchange of the refresh cookie.

import { abortable } from '../calls/waiting.ts';
import { type Environment, randomId, type Store } from '../environment.ts';
import { CastellanError } from '../errors.ts';
import { type EndReason, type Held, Tabs } from './tabs.ts';

/** `unknown` until `restore` or a sign-in. */
export type SessionState = 'unknown' | 'authenticated' | 'anonymous';

export type SessionEvent = {
  /**
   * - `authenticated`: this or another tab signed in, or the session was restored.
   * - `subject_changed`: another user is signed in than before, here, in another tab, or when a page that was loaded anew
   *   continues the session. Drop everything read for the previous one, in storage too.
   * - `signed_out`: this or another tab signed out.
   * - `session_ended`: the service ended the session, or its cookie is that of another user. Ask for the password again.
   * - `anonymous`: there was no session to restore.
   */
  type: 'authenticated' | 'subject_changed' | 'anonymous' | EndReason;
  state: SessionState;
  /** The id of the signed-in user; null if nobody is. */
  subject: string | null;
  /** With `subject_changed`, the id of the user who was signed in before; otherwise null. */
  formerSubject: string | null;
};

/** `renewed` by the service, `shared` by another request or tab, or the session has `ended`. */
export type Refreshed = 'renewed' | 'shared' | 'ended';

/** The tokens that a request has failed with; null if it carried none. */
export type Failed = ReadonlySet<string | null>;

/** Names the value that says that there may be a session, and from which sign-in. It is no secret. */
const KEY = 'session';

export class Session {
  readonly tabs: Tabs;
  readonly #environment: Environment;
  readonly #exchange: () => Promise<string>;
  readonly #maxWaitMs: number;
  /** Whose session this tab had, also on earlier pages. An id is no secret. */
  readonly #lastSubject: { store: Store | null; name: string };
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  /** Sign-ins that are over, in any tab; null if another followed. A token of one that arrives late is dropped. */
  readonly #ended = new Map<string, EndReason | null>();
  #state: SessionState = 'unknown';
  #held: Held | null = null;
  #subject: string | null = null;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #refreshing: Promise<Refreshed> | null = null;
  /** The last refusal to refresh, and until when the next request waits. */
  #refusal: { error: CastellanError; untilMs: number } | null = null;

  /** `exchange` returns a new access token for the refresh cookie. */
  constructor(environment: Environment, name: string, exchange: () => Promise<string>, maxWaitMs: number) {
    this.#environment = environment;
    this.#exchange = exchange;
    this.#maxWaitMs = maxWaitMs;
    this.#lastSubject = { store: environment.tabStorage, name: `castellan:${name}:subject` };
    this.tabs = new Tabs(environment, name, {
      answer: (key) => ({ held: this.#held, ended: this.#ended.get(key) ?? null }),
      onToken: (held) => {
        if (!this.#ended.has(held.key)) this.#adoptShared(held);
      },
      onEnded: (key, reason) => this.#onEnded(key, reason),
    });
  }

  get state(): SessionState {
    return this.#state;
  }

  get subject(): string | null {
    return this.#subject;
  }

  get token(): string | null {
    return this.#held?.token ?? null;
  }

  /** Whether this browser may have a session, also if this tab does not have its token yet. */
  get isPossible(): boolean {
    return this.tabs.read(KEY) !== null;
  }

  subscribe(listener: (event: SessionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Runs a sign-in, sign-out or password change after the one before, so that the last one decides who is signed in. */
  inTurn<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const result = this.#lastTurn.then(task, task);
    this.#lastTurn = result;
    return abortable(result, signal);
  }

  /** Adopts the token of a new session. */
  begin(token: string): void {
    const held = { key: randomId(), token };
    this.tabs.write(KEY, held.key);
    this.#refusal = null;
    this.#adopt(held);
    this.tabs.announceToken(held);
  }

  /** Throws `session_changed` if another user than this one is signed in. */
  checkSubject(subject: string | null): void {
    if (subject !== null && this.#subject !== null && this.#subject !== subject)
      throw new CastellanError('session_changed', 'Another user has signed in since this request was sent.');
  }

  /** Returns the key for `end`; null without a session. */
  currentKey(): string | null {
    return this.#held?.key ?? this.tabs.read(KEY);
  }

  /** Ends the session of this key in all tabs. A session that has begun since stays. */
  end(key: string | null, reason: EndReason): void {
    const stored = this.tabs.read(KEY);
    if ((key !== stored && key !== this.#held?.key) || (key !== null && this.#ended.has(key))) return;
    if (key === stored) this.tabs.write(KEY, null);
    this.#drop(key, reason);
    if (key !== null) this.tabs.announceEnd(key, reason);
  }

  /** Takes the session of another tab, or refreshes. Makes no call in a browser without a session. */
  async restore(): Promise<SessionState> {
    if (this.#state === 'authenticated') return this.#state;
    const isOver = !this.isPossible || (await this.refresh(new Set())) === 'ended';
    // A sign-in may have finished by now.
    if (isOver && !this.#held) this.#drop(null, 'anonymous');
    return this.#state;
  }

  /**
   * Gets another access token than those that failed. All requests of a tab share one attempt, and the tabs take turns.
   * Asks the other tabs after the first failure of a request, then only the service, because their tokens may be dead.
   * Only `refresh_token_invalid` ends the session; rejects with any other failure.
   */
  async refresh(failed: Failed): Promise<Refreshed> {
    if (!this.isPossible) this.#drop(this.#held?.key ?? null, this.#held ? 'session_ended' : 'anonymous');
    else
      while (!this.#hasOther(failed)) {
        this.#refreshing ??= this.#refreshOnce(failed);
        const refreshed = await this.#refreshing;
        // What an attempt of another request shares may be a token that has failed here.
        if (refreshed !== 'shared') return refreshed;
      }
    return this.#outcome(failed);
  }

  close(): void {
    this.#listeners.clear();
    this.tabs.close();
  }

  async #refreshOnce(failed: Failed): Promise<Refreshed> {
    try {
      return await this.tabs.exclusive('refresh', () => this.#refreshInTurn(failed));
    } finally {
      this.#refreshing = null;
    }
  }

  async #refreshInTurn(failed: Failed): Promise<Refreshed> {
    const key = this.tabs.read(KEY);
    if (key === null) return this.#outcome(failed);
    const found = failed.size > 1 ? undefined : await this.tabs.find(key, failed);
    if (typeof found === 'string') this.#onEnded(key, found);
    else if (found && this.#isCurrent(key)) this.#adoptShared(found);
    if (this.#hasOther(failed) || !this.#isCurrent(key)) return this.#outcome(failed);
    const token = await this.#exchangeOrEnd(key);
    if (token === null || !this.#isCurrent(key)) return this.#outcome(failed);
    this.#continue({ key, token });
    if (this.token !== token) return this.#outcome(failed);
    this.tabs.announceToken({ key, token });
    return 'renewed';
  }

  /** Returns null if the session is over. */
  async #exchangeOrEnd(key: string): Promise<string | null> {
    await this.#waitForRefusal();
    try {
      return await this.#exchange();
    } catch (error) {
      if (!(error instanceof CastellanError)) throw error;
      if (error.retryAfterMs !== null)
        this.#refusal = { error, untilMs: this.#environment.now() + error.retryAfterMs };
      // Any other 401 is not of the service, but of a proxy.
      if (error.code !== 'refresh_token_invalid') throw error;
      this.end(key, 'session_ended');
      return null;
    }
  }

  /** Does not ask a service again that has just asked to wait. */
  async #waitForRefusal(): Promise<void> {
    const waitMs = (this.#refusal?.untilMs ?? 0) - this.#environment.now();
    if (!this.#refusal || waitMs <= 0) return;
    if (waitMs > this.#maxWaitMs) throw this.#refusal.error;
    await this.#environment.sleep(waitMs);
  }

  #hasOther(failed: Failed): boolean {
    return this.#held !== null && !failed.has(this.#held.token);
  }

  #outcome(failed: Failed): Refreshed {
    return this.#hasOther(failed) ? 'shared' : 'ended';
  }

  #isCurrent(key: string): boolean {
    return this.tabs.read(KEY) === key && !this.#ended.has(key);
  }

  /** Ignores a token that is older than that of this tab, because it expires earlier. */
  #adoptShared(held: Held): void {
    const isOlder = this.#held?.key === held.key && claimsOf(held.token).iat < claimsOf(this.#held.token).iat;
    if (!isOlder) this.#continue(held);
  }

  /** Adopts a token, or ends its sign-in if it is of another user: a sign-in set the cookie and got lost. */
  #continue(held: Held): void {
    if (this.#held?.key === held.key && claimsOf(held.token).sub !== this.#subject)
      this.end(held.key, 'session_ended');
    else this.#adopt(held);
  }

  #adopt(held: Held): void {
    const before = { state: this.#state, subject: this.#subject ?? this.#rememberedSubject() };
    if (this.#held && this.#held.key !== held.key) this.#ended.set(this.#held.key, null);
    this.#held = held;
    this.#subject = claimsOf(held.token).sub;
    this.#state = 'authenticated';
    this.#remember(this.#subject);
    this.tabs.join();
    if (before.subject !== null && before.subject !== this.#subject)
      this.#emit('subject_changed', before.subject);
    else if (before.state !== 'authenticated') this.#emit('authenticated');
  }

  #onEnded(key: string, reason: EndReason): void {
    this.#ended.set(key, reason);
    if (this.#held?.key === key) this.#drop(key, reason);
  }

  #drop(key: string | null, type: EndReason | 'anonymous'): void {
    if (key !== null && type !== 'anonymous') this.#ended.set(key, type);
    this.#held = null;
    this.#subject = null;
    this.#remember(null);
    if (this.#state === 'anonymous') return;
    this.#state = 'anonymous';
    this.#emit(type);
  }

  #rememberedSubject(): string | null {
    const { store, name } = this.#lastSubject;
    return store?.getItem(name) ?? null;
  }

  /** If the storage is full, nobody is remembered, rather than somebody else. */
  #remember(subject: string | null): void {
    const { store, name } = this.#lastSubject;
    if (subject === this.#rememberedSubject()) return;
    store?.removeItem(name);
    if (subject === null) return;
    try {
      store?.setItem(name, subject);
    } catch {
      // As if the tab were new.
    }
  }

  #emit(type: SessionEvent['type'], formerSubject: string | null = null): void {
    const event: SessionEvent = { type, state: this.#state, subject: this.#subject, formerSubject };
    for (const listener of this.#listeners)
      try {
        listener(event);
      } catch (error) {
        // One listener must not keep the others from their event.
        queueMicrotask(() => {
          throw error;
        });
      }
  }
}

/** Reads a token without verifying it, which the service does. Claims that cannot be read are null and 0. */
function claimsOf(token: string): { sub: string | null; iat: number } {
  try {
    const [, payload = ''] = token.split('.');
    const { sub, iat } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    return { sub: typeof sub === 'string' ? sub : null, iat: Number(iat) || 0 };
  } catch {
    return { sub: null, iat: 0 };
  }
}
