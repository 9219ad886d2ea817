// Keeps answers until a change concerns them, in two generations: the older one goes when the younger is full.
// It must not know where changes come from, nor decide whether a kept answer counts now.
import { type Moment, momentNow } from '../cache.ts';

/** What many answers have in common. They share it, and a change of it drops them together. */
export type Shared = { readonly key: string; readonly ids: readonly string[] };

export type Answer<Value, S extends Shared = Shared> = {
  /** The whole question: a token, or the text of a decision's question. */
  readonly text: string;
  readonly value: Value;
  /** What concerns this answer alone, such as its session. */
  readonly ids: readonly string[];
  readonly shared: S;
  /** When the question was sent: an answer is never newer. */
  readonly askedAt: Moment;
  /** For how long time alone changes nothing, in ms. */
  readonly freshMs: number;
  /** When what the answer is about ends, in ms since 1970. */
  readonly endsAt?: number | undefined;
};

/** `steadyEnd`, `dateEnd`: since the start, in whole ms. Small integers are part of the record, so that a check reads little memory. */
type Entry<Value, S extends Shared> = Pick<Answer<Value, S>, 'text' | 'value' | 'ids' | 'shared'> & {
  readonly steadyEnd: number;
  readonly dateEnd: number;
};

type Generation<Value, S extends Shared> = {
  entries: Map<string, Entry<Value, S>>;
  /** Most ids have one entry, and a set of one takes three times the memory. */
  byId: Map<string, Entry<Value, S> | Set<Entry<Value, S>>>;
  groups: Map<string, { shared: S; entries: Set<Entry<Value, S>> }>;
};

const emptyGeneration = <Value, S extends Shared>(): Generation<Value, S> => ({
  entries: new Map(),
  byId: new Map(),
  groups: new Map(),
});

export class Kept<Value, S extends Shared = Shared> {
  #young = emptyGeneration<Value, S>();
  #old = emptyGeneration<Value, S>();
  readonly #start = momentNow();
  readonly #size: number;
  readonly #keyOf: (text: string) => string;

  /** `size`: of one generation. Texts with the same `keyOf` displace each other; they are compared whole. */
  constructor(size: number, keyOf: (text: string) => string) {
    this.#size = size;
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#young.entries.size + this.#old.entries.size;
  }

  /** Returns the answer to exactly this question, unless time has changed it. */
  get(text: string, now: Moment): Value | undefined {
    const key = this.#keyOf(text);
    let entry = this.#young.entries.get(key);
    if (!entry) {
      entry = this.#old.entries.get(key);
      if (entry?.text !== text) return undefined;
      this.#add(entry);
    }
    const { steady, date } = this.#start;
    const isFresh = now.steady - steady < entry.steadyEnd && now.date - date < entry.dateEnd;
    return isFresh && entry.text === text ? entry.value : undefined;
  }

  set({ askedAt, freshMs, endsAt = Number.POSITIVE_INFINITY, ...answer }: Answer<Value, S>): void {
    const { steady, date } = this.#start;
    this.#add({
      ...answer,
      steadyEnd: Math.floor(askedAt.steady + freshMs - steady),
      dateEnd: Math.floor(Math.min(askedAt.date + freshMs, endsAt) - date),
    });
  }

  #add(entry: Entry<Value, S>): void {
    if (this.#size < 1) return;
    const key = this.#keyOf(entry.text);
    for (const generation of [this.#young, this.#old]) {
      const earlier = generation.entries.get(key);
      if (earlier) this.#remove(generation, earlier);
    }
    if (this.#young.entries.size >= this.#size) {
      this.#old = this.#young;
      this.#young = emptyGeneration();
    }
    const { entries, byId, groups } = this.#young;
    const { ids, shared } = entry;
    entries.set(key, entry);
    for (const id of ids) {
      const there = byId.get(id);
      if (there instanceof Set) there.add(entry);
      else byId.set(id, there ? new Set([there, entry]) : entry);
    }
    const group = groups.get(shared.key) ?? { shared, entries: new Set() };
    group.entries.add(entry);
    groups.set(shared.key, group);
  }

  /** Returns what kept answers share under this key, so that another one can share it. */
  sharedAt(key: string): S | undefined {
    return (this.#young.groups.get(key) ?? this.#old.groups.get(key))?.shared;
  }

  /** Drops the answers that one of these ids concerns alone. */
  drop(ids: ReadonlySet<string>): void {
    for (const generation of [this.#young, this.#old])
      for (const id of ids) {
        const there = generation.byId.get(id);
        for (const entry of there instanceof Set ? [...there] : there ? [there] : [])
          this.#remove(generation, entry);
      }
  }

  /** Drops the answers that have one of these ids in common. Takes time for all groups, of which there are few. */
  dropGroups(ids: ReadonlySet<string>): void {
    for (const generation of [this.#young, this.#old])
      for (const { shared, entries } of [...generation.groups.values()])
        if (shared.ids.some((id) => ids.has(id)))
          for (const entry of [...entries]) this.#remove(generation, entry);
  }

  clear(): void {
    this.#young = emptyGeneration();
    this.#old = emptyGeneration();
  }

  #remove({ entries, byId, groups }: Generation<Value, S>, entry: Entry<Value, S>): void {
    entries.delete(this.#keyOf(entry.text));
    for (const id of entry.ids) {
      const there = byId.get(id);
      if (there instanceof Set) there.delete(entry);
      if (there === entry || (there instanceof Set && there.size === 0)) byId.delete(id);
    }
    const group = groups.get(entry.shared.key);
    group?.entries.delete(entry);
    if (group?.entries.size === 0) groups.delete(entry.shared.key);
  }
}
