// The second factors of a user of the stand-in, an authenticator app and recovery codes, and the sign-ins that wait for one.
import type { SecondFactorRequest } from '../api.ts';

const PENDING_MS = 600_000;
/** How many wrong codes end a sign-in that waits for its second step. */
const MOST_WRONG_CODES = 5;

export type CodeRefusal = 'second_factor_invalid' | 'code_already_used';

const newCode = (): string => {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return String(number % 1_000_000).padStart(6, '0');
};

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const newRecoveryCode = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => ALPHABET[byte % 32])
    .join('')
    .replace(/(.{4})(?=.)/g, '$1-');

/** Recovery codes are compared in any spelling. */
const plain = (text: string): string =>
  text.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');

export class Factors {
  readonly recoveryCodes: readonly string[] = Array.from({ length: 10 }, newRecoveryCode);
  readonly #unused = new Set(this.recoveryCodes.map(plain));
  readonly #used = new Set<string>();
  #code = newCode();

  /** Returns the code that the app shows. It changes when it has been used. */
  get code(): string {
    while (this.#used.has(this.#code)) this.#code = newCode();
    return this.#code;
  }

  /** Uses a code of the app. Returns why it was refused. */
  takeCode(text: string): CodeRefusal | undefined {
    const code = text.replaceAll(' ', '');
    if (this.#used.has(code)) return 'code_already_used';
    if (code !== this.code) return 'second_factor_invalid';
    this.#used.add(code);
    return undefined;
  }

  takeRecoveryCode(text: string): CodeRefusal | undefined {
    return this.#unused.delete(plain(text)) ? undefined : 'second_factor_invalid';
  }
}

/** A sign-in whose password was right. It belongs to one browser, which its cookies stand for. */
type Pending<Account> = { account: Account; browser: object; expiresAt: number; wrong: number };

export class SecondSteps<Account extends { isActive: boolean }> {
  readonly #pending = new Map<string, Pending<Account>>();

  /** Returns the member `second_factor` of the refusal of a sign-in. It replaces the one before of this browser. */
  begin(account: Account, browser: object): SecondFactorRequest {
    this.#drop((one) => one.account === account && one.browser === browser);
    const token = crypto.randomUUID();
    const expiresAt = Date.now() + PENDING_MS;
    this.#pending.set(token, { account, browser, expiresAt, wrong: 0 });
    return {
      token,
      expires_at: new Date(expiresAt).toISOString(),
      methods: ['totp', 'recovery_code'],
      may_trust_device: false,
    };
  }

  /** Returns whose sign-in waits; undefined if none of this browser does. */
  find(token: string, browser: object): Account | undefined {
    const found = this.#pending.get(token);
    const isOpen = found?.browser === browser && found.expiresAt > Date.now() && found.account.isActive;
    return isOpen ? found.account : undefined;
  }

  /** Counts a wrong code. Returns how many more the sign-in takes. */
  countWrong(token: string): number {
    const pending = this.#pending.get(token);
    if (!pending) return 0;
    pending.wrong += 1;
    const left = MOST_WRONG_CODES - pending.wrong;
    if (left === 0) this.#pending.delete(token);
    return left;
  }

  complete(token: string): void {
    this.#pending.delete(token);
  }

  end(account: Account): void {
    this.#drop((one) => one.account === account);
  }

  #drop(isOver: (one: Pending<Account>) => boolean): void {
    for (const [token, one] of this.#pending) if (isOver(one)) this.#pending.delete(token);
  }
}
