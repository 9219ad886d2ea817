// What a recipe is, and what it makes of an address: an application to register, and the other side's own configuration.
// Recipes are data. They must not decide anything that the service does not check again.
import type { Application, CreateApplication } from '@castellan/sdk';

type Given = 'client_id' | 'name' | 'type';

export type Recipe = {
  /** The name of the product; null for programs of one's own, which have only a type. */
  product: string | null;
  /** What the form begins with. */
  clientId: string;
  type: Application['type'];
  /** The address of the site, or the one that people are sent back to; null if there is none to ask for. */
  asks: 'site' | 'redirect' | null;
  /** An address of this kind. */
  example: string;
  /** All but what the form asks for. Texts may have placeholders. */
  application: Omit<CreateApplication, Given>;
  /** What to copy into the application. Texts may have placeholders. */
  files: readonly { name: string; text: string }[];
};

/** What takes the place of `{address}` and the others. */
export type Values = {
  /** The site without a slash at the end, or the address that people are sent back to. */
  address: string;
  issuer: string;
  client_id: string;
  client_secret: string;
  /** 32 hexadecimal digits, for secrets that the application keeps to itself. */
  random: string;
};

/** Puts the values into every text in `template`. `{origin}` and `{path}` are those of the address, `{issuer_host}` is the issuer's host. */
export function filled<T>(template: T, values: Values): T {
  const url = URL.canParse(values.address) ? new URL(values.address) : undefined;
  const all: Record<string, string> = {
    ...values,
    origin: url && url.origin !== 'null' ? url.origin : '',
    path: url?.pathname ?? '/',
    issuer_host: URL.canParse(values.issuer) ? new URL(values.issuer).host : '',
    encoded_address: encodeURIComponent(values.address),
  };
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replaceAll(/\{(\w+)\}/g, (whole, name: string) => all[name] ?? whole);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]));
  };
  // The shape is the same; only texts in it have changed.
  return fill(template) as T;
}

/** Characters that mean nothing in a shell, in Ruby, in Apache's and in ini files. */
const SAFE = /^[\w.~:/%[\]-]+$/;

/**
 * Returns the address of a site as browsers write it, without a slash at the end; null unless it is an http or https address
 * without query and fragment, of characters that every configuration takes.
 */
export function siteOf(typed: string): string | null {
  const text = typed.trim();
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { origin, pathname, search, hash, username, password } = new URL(text);
  const site = `${origin}${pathname}`.replace(/\/+$/, '');
  return search + hash + username + password === '' && SAFE.test(site) ? site : null;
}
