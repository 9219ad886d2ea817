// The CSRF token of this browser. Its other half is an HttpOnly cookie, so that the token alone is worth nothing and may
// be stored. The tabs share one, because each fetch of the first one may set another cookie.
import type { Tabs } from './tabs.ts';

const NAME = 'csrf';

export class CsrfToken {
  readonly #tabs: Tabs;
  readonly #fetch: () => Promise<string>;
  #pending: Promise<string> | null = null;

  constructor(tabs: Tabs, fetch: () => Promise<string>) {
    this.#tabs = tabs;
    this.#fetch = fetch;
  }

  /** Returns a token other than the one that was refused. Any number of callers share one fetch. */
  async get(refused: string | null = null): Promise<string> {
    const stored = this.#stored(refused);
    if (stored !== null) return stored;
    this.#pending ??= this.#renew(refused);
    return this.#pending;
  }

  #stored(refused: string | null): string | null {
    const token = this.#tabs.read(NAME);
    return token === refused ? null : token;
  }

  async #renew(refused: string | null): Promise<string> {
    try {
      return await this.#tabs.exclusive(NAME, async () => {
        const stored = this.#stored(refused);
        if (stored !== null) return stored;
        const token = await this.#fetch();
        this.#tabs.write(NAME, token);
        return token;
      });
    } finally {
      this.#pending = null;
    }
  }
}
