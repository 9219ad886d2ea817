// What the tabs of one browser share: values in localStorage, locks, and messages. It must not decide what a token is worth.
// Without localStorage there are no other tabs: a server, a worker, or a browser that forbids storage.
import { type Channel, type Environment, randomId, type Store } from '../environment.ts';

/** The session of a tab: which sign-in it stems from, and its access token. */
export type Held = { key: string; token: string };

export type EndReason = 'signed_out' | 'session_ended';

type Message =
  | ({ type: 'token' } & Held)
  | { type: 'ended'; key: string; reason: EndReason }
  | { type: 'ask'; id: string; key: string }
  | ({ type: 'answer'; to: string } & Answer);

/** What a tab holds, and whether the session that was asked about is over. */
type Answer = { held: Held | null; ended: EndReason | null };

/** Every script of the origin can send messages, and all of them are trusted. */
const isMessage = (value: unknown): value is Message => value instanceof Object && 'type' in value;

export type TabListener = {
  /** Another tab signed in or got a new access token. */
  onToken(held: Held): void;
  onEnded(key: string, reason: EndReason): void;
  /** Answers the question of another tab about the session of this key. */
  answer(key: string): Answer;
};

/** For tabs that do not answer because the browser froze them. */
const ANSWER_LIMIT_MS = 1_000;
/** Where the number of tabs is not known, so that the wait never ends early. */
const UNCOUNTED_LIMIT_MS = 80;

export class Tabs {
  readonly #prefix: string;
  readonly #storage: Store;
  /** What the storage had no room for. */
  readonly #unstored = memoryStorage();
  readonly #locks: Environment['locks'];
  #channel: Channel | null;
  readonly #questions = new Map<string, (answer: Answer) => void>();
  #leave: (() => void) | null = null;

  constructor({ storage, locks, openChannel }: Environment, name: string, listener: TabListener) {
    this.#prefix = `castellan:${name}:`;
    this.#storage = storage ?? memoryStorage();
    this.#locks = storage && locks;
    const receive = (message: unknown) => isMessage(message) && this.#on(message, listener);
    this.#channel = storage && openChannel ? openChannel(this.#prefix, receive) : null;
  }

  read(name: string): string | null {
    return this.#storage.getItem(this.#prefix + name) ?? this.#unstored.getItem(name);
  }

  /** Null removes the value. The value must not be a secret. If the storage is full, only this tab has the value. */
  write(name: string, value: string | null): void {
    this.#unstored.removeItem(name);
    if (value === null) {
      this.#storage.removeItem(this.#prefix + name);
      return;
    }
    try {
      this.#storage.setItem(this.#prefix + name, value);
    } catch {
      this.#storage.removeItem(this.#prefix + name);
      this.#unstored.setItem(name, value);
    }
  }

  /** Runs the task while no other tab runs one of this name, where there are Web Locks. */
  async exclusive<T>(name: string, task: () => Promise<T>): Promise<T> {
    return this.#locks ? this.#locks.request(this.#prefix + name, task) : task();
  }

  announceToken(held: Held): void {
    this.#post({ type: 'token', ...held });
  }

  announceEnd(key: string, reason: EndReason): void {
    this.#post({ type: 'ended', key, reason });
  }

  /**
   * Makes other tabs expect an answer of this tab until it closes. It goes on after the session, because a value in
   * localStorage may reach another tab later than a lock does: the answer says that the session is over.
   */
  join(): void {
    if (this.#leave || !this.#locks) return;
    const left = new Promise<void>((resolve) => {
      this.#leave = resolve;
    });
    this.#locks.request(`${this.#prefix}present`, { mode: 'shared' }, () => left).catch(() => {});
  }

  /**
   * Asks the other tabs for another token of this session than those that failed. Returns why the session ended if one of
   * them knows, and undefined if there is no such token.
   */
  async find(key: string, failed: ReadonlySet<string | null>): Promise<Held | EndReason | undefined> {
    const others = this.#channel ? await this.#countOthers() : 0;
    if (others === 0) return undefined;
    const id = randomId();
    return new Promise((resolve) => {
      let answers = 0;
      const finish = (found?: Held | EndReason) => {
        clearTimeout(timer);
        this.#questions.delete(id);
        resolve(found);
      };
      const timer = setTimeout(() => finish(), others === undefined ? UNCOUNTED_LIMIT_MS : ANSWER_LIMIT_MS);
      this.#questions.set(id, ({ held, ended }) => {
        answers += 1;
        if (ended) finish(ended);
        else if (held?.key === key && !failed.has(held.token)) finish(held);
        else if (answers === others) finish();
      });
      this.#post({ type: 'ask', id, key });
    });
  }

  close(): void {
    this.#leave?.();
    this.#channel?.close();
    this.#channel = null;
  }

  /** Returns undefined where nobody knows. */
  async #countOthers(): Promise<number | undefined> {
    if (!this.#locks) return undefined;
    const { held = [] } = await this.#locks.query();
    const present = held.filter((lock) => lock.name === `${this.#prefix}present`).length;
    return Math.max(0, present - (this.#leave ? 1 : 0));
  }

  #on(message: Message, listener: TabListener): void {
    if (message.type === 'token') listener.onToken({ key: message.key, token: message.token });
    else if (message.type === 'ended') listener.onEnded(message.key, message.reason);
    else if (message.type === 'answer') this.#questions.get(message.to)?.(message);
    else if (message.type === 'ask' && (this.#leave || !this.#locks))
      this.#post({ type: 'answer', to: message.id, ...listener.answer(message.key) });
  }

  #post(message: Message): void {
    this.#channel?.postMessage(message);
  }
}

function memoryStorage(): Store {
  const values = new Map<string, string>();
  return {
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: (name) => void values.delete(name),
  };
}
