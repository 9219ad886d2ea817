// Keeps bodies of responses in memory, up to a number of bytes.
// It must not decide when two responses have the same body: the key does.

/** What an entry costs besides its body. */
const ENTRY_BYTES = 512;

export class KeptBodies {
  /** A body of more bytes is not kept. */
  readonly mostOfOne: number;
  readonly #maxBytes: number;
  readonly #bodies = new Map<string, Buffer>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.mostOfOne = maxBytes / 2;
  }

  /** Returns the body of the key, which counts as used. */
  get(key: string): Buffer | undefined {
    const body = this.#bodies.get(key);
    if (body === undefined) return undefined;
    this.#bodies.delete(key);
    this.#bodies.set(key, body);
    return body;
  }

  /** Keeps the body and drops those that were not used for longest. Ignores a body of more than half of the bytes. */
  set(key: string, body: Buffer): void {
    if (body.length > this.mostOfOne) return;
    this.#delete(key);
    this.#bodies.set(key, body);
    this.#bytes += body.length + ENTRY_BYTES;
    for (const oldest of this.#bodies.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const body = this.#bodies.get(key);
    if (body === undefined) return;
    this.#bodies.delete(key);
    this.#bytes -= body.length + ENTRY_BYTES;
  }
}
