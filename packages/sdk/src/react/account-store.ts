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

/** Which permissions of the user are read: `all`, or those of Castellan itself, which are enough for its own pages. */
export type PermissionChoice = 'all' | 'builtin';

/** A page that becomes visible reads the user again if the last answer is older than this. */
const STALE_MS = 30_000;

/** Holds the account of a browser for any number of components, and reads it once per change of the session. */
export class AccountStore {
  readonly #client: BrowserClient;
  readonly #permissions: PermissionChoice;
  readonly #listeners = new Set<() => void>();
  readonly #loading: Account;
  #account: Account;
  /** Numbers the reads and what else decides what to show: an answer that was overtaken is dropped. */
  #turn = 0;
  /** The latest read. */
  #reading: Promise<void> = Promise.resolve();
  /** When the latest read began, as `Date.now()`, which goes on while the computer sleeps. Null: it failed. */
  #askedAt: number | null = null;

  constructor(client: BrowserClient, permissions: PermissionChoice = 'all') {
    this.#client = client;
    this.#permissions = permissions;
    this.#loading = this.#with({ status: 'loading' });
    this.#account = this.#loading;
  }

  isOf(client: BrowserClient, permissions: PermissionChoice = 'all'): boolean {
    return this.#client === client && this.#permissions === permissions;
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
      if (document.visibilityState === 'visible' && this.#account.user && this.#isStale()) void this.#load();
    };
    if (typeof document !== 'undefined') document.addEventListener('visibilitychange', onVisible);
    void this.reload();
    return () => {
      this.#takeTurn();
      unsubscribe();
      if (typeof document !== 'undefined') document.removeEventListener('visibilitychange', onVisible);
    };
  }

  readonly reload = (): Promise<void> =>
    this.#client.auth.state === 'authenticated' ? this.#load() : this.#restore();

  async #restore(): Promise<void> {
    const turn = this.#takeTurn();
    try {
      // The listener above is told of a change of the session, also by another tab, and takes the next turn.
      const state = await this.#client.auth.restore();
      if (turn !== this.#turn) await this.#reading;
      else if (state === 'authenticated') await this.#load();
      else this.#showNobody();
    } catch (error) {
      if (turn === this.#turn) this.#set(this.#with({ status: 'failed', error }));
    }
  }

  #load(): Promise<void> {
    this.#reading = this.#readUser(this.#takeTurn());
    return this.#reading;
  }

  async #readUser(turn: number): Promise<void> {
    this.#askedAt = Date.now();
    try {
      const query = this.#permissions === 'builtin' ? { permissions: this.#permissions } : {};
      const { data } = await this.#client.get('/api/v1/users/me', { query });
      if (turn === this.#turn) this.#set(this.#with({ status: 'ready', user: data }));
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#askedAt = null;
      // The end of a session was announced. After any other failure, what is shown stays.
      const { user } = this.#account;
      if (this.#client.auth.state !== 'authenticated') this.#showNobody();
      else this.#set(this.#with({ status: user ? 'ready' : 'failed', user, error }));
    }
  }

  /** A clock that was set back makes an answer stale, too. */
  #isStale(): boolean {
    return this.#askedAt === null || Math.abs(Date.now() - this.#askedAt) >= STALE_MS;
  }

  #showNobody(): void {
    this.#takeTurn();
    this.#set(this.#with({ status: 'ready' }));
  }

  #takeTurn(): number {
    this.#turn += 1;
    return this.#turn;
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
