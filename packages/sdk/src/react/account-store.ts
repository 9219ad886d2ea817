import type { User } from '../api.ts';
import type { BrowserClient } from '../client.ts';

export type Account = {
  /** `failed`: Castellan could not be asked yet; `user` is null. */
  readonly status: 'loading' | 'ready' | 'failed';
  readonly user: User | null;
  /** The names of the user's permissions, in lower case. */
  readonly permissions: ReadonlySet<string>;
  /** Why the latest read failed. */
  readonly error: unknown;
  /** Reads the user and their permissions again. It never rejects: `status` and `error` tell of a failure. */
  reload(): Promise<void>;
};

/** A page that becomes visible reads the user again if the last answer is older than this. */
const STALE_MS = 30_000;

/** Holds the account of a browser for any number of components, and reads it once per change of the session. */
export class AccountStore {
  readonly #client: BrowserClient;
  readonly #listeners = new Set<() => void>();
  readonly #loading: Account;
  #account: Account;
  /** Numbers the reads: an answer that a later read has overtaken is dropped. */
  #reads = 0;
  #readAt = 0;

  constructor(client: BrowserClient) {
    this.#client = client;
    this.#loading = this.#with({ status: 'loading' });
    this.#account = this.#loading;
  }

  isOf(client: BrowserClient): boolean {
    return this.#client === client;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly read = (): Account => this.#account;

  /** Listens to the session and reads the account. Returns the function that stops listening. */
  start(): () => void {
    const unsubscribe = this.#client.auth.subscribe(({ type, state }) => {
      if (type === 'subject_changed') this.#set(this.#loading);
      if (state === 'authenticated') void this.#load();
      else this.#showNobody();
    });
    const onVisible = (): void => {
      const isStale = performance.now() - this.#readAt >= STALE_MS;
      if (document.visibilityState === 'visible' && isStale && this.#account.user) void this.#load();
    };
    if (typeof document !== 'undefined') document.addEventListener('visibilitychange', onVisible);
    void this.reload();
    return () => {
      this.#reads += 1;
      unsubscribe();
      if (typeof document !== 'undefined') document.removeEventListener('visibilitychange', onVisible);
    };
  }

  readonly reload = (): Promise<void> =>
    this.#client.auth.state === 'authenticated' ? this.#load() : this.#restore();

  async #restore(): Promise<void> {
    try {
      // A restored session is announced to the listener above, which reads the account.
      const { auth } = this.#client;
      const wasKnown = auth.state === 'authenticated';
      const state = await auth.restore();
      if (state !== 'authenticated') this.#showNobody();
      else if (wasKnown) await this.#load();
    } catch (error) {
      this.#set(this.#with({ status: 'failed', error }));
    }
  }

  async #load(): Promise<void> {
    this.#reads += 1;
    const number = this.#reads;
    try {
      const { data } = await this.#client.get('/api/v1/users/me');
      if (number !== this.#reads) return;
      this.#readAt = performance.now();
      this.#set(this.#with({ status: 'ready', user: data }));
    } catch (error) {
      if (number !== this.#reads) return;
      // The end of a session was announced. After any other failure, what is shown stays.
      const { user } = this.#account;
      if (this.#client.auth.state !== 'authenticated') this.#showNobody();
      else this.#set(this.#with({ status: user ? 'ready' : 'failed', user, error }));
    }
  }

  #showNobody(): void {
    this.#reads += 1;
    this.#set(this.#with({ status: 'ready' }));
  }

  #set(account: Account): void {
    this.#account = account;
    for (const listener of [...this.#listeners]) listener();
  }

  #with({ status, user = null, error }: Pick<Account, 'status'> & Partial<Account>): Account {
    return {
      status,
      user,
      permissions: new Set(user?.permissions.map((one) => one.toLowerCase())),
      error,
      reload: this.reload,
    };
  }
}
