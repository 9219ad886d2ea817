// Links that the operator configures: checked once at startup, filled in for each mail.
// A token must never become part of the scheme or host.

/** An absolute URL in ASCII that holds `{token}` exactly once, in its path, query or fragment. */
export type LinkTemplate = string;

export const TOKEN_PLACEHOLDER = '{token}';

// Replaces the token while the URL is parsed: parsing does not change lower-case letters and digits.
const MARK = 'token0mark0';

// RFC 8252, section 7.1: an app's own scheme is a reversed domain name, so it contains a dot. This refuses javascript:,
// data:, file: and the like.
const isLinkScheme = (protocol: string): boolean =>
  /^(https?|[a-z][a-z0-9-]*(\.[a-z0-9-]+)+):$/.test(protocol);

/** Returns the URL in ASCII. The error's message continues a sentence that begins with the setting's name. */
export function parseLink(text: string): string {
  const unknown = /\{[^{}]*\}/.exec(text)?.[0];
  if (unknown !== undefined) throw new Error(`has the placeholder ${unknown}; this link takes none`);
  return parseUrl(text);
}

/** Does the same as `parseLink` for a link with a one-time token. */
export function parseLinkTemplate(text: string): LinkTemplate {
  const placeholders = text.match(/\{[^{}]*\}/g) ?? [];
  const unknown = placeholders.find((one) => one !== TOKEN_PLACEHOLDER);
  if (unknown !== undefined) throw new Error(`has the unknown placeholder ${unknown}; write {token}`);
  if (placeholders.length !== 1)
    throw new Error(`must hold {token} exactly once, such as https://app.example.com/confirm#token={token}`);
  if (text.includes(MARK)) throw new Error(`must not contain "${MARK}"`);
  const href = parseUrl(text.replace(TOKEN_PLACEHOLDER, MARK));
  const { host, username, password, pathname, search, hash } = new URL(href);
  if (
    [host, username, password].some((part) => part.includes(MARK)) ||
    !(pathname + search + hash).includes(MARK)
  )
    throw new Error('must contain {token} in the path, query or fragment');
  return href.replace(MARK, TOKEN_PLACEHOLDER);
}

/** Returns the link for one token, which is percent-encoded. */
export const fillLink = (template: LinkTemplate, token: string): string =>
  template.replace(TOKEN_PLACEHOLDER, () => encodeURIComponent(token));

function parseUrl(text: string): string {
  // The URL parser would silently remove tabs and line breaks.
  const url = /[\s\p{C}<>"]/u.test(text) || !URL.canParse(text) ? null : new URL(text);
  if (!url || !isLinkScheme(url.protocol))
    throw new Error(
      "is not a link; write an https:// or http:// URL, or one with an app's own scheme such as com.example.app:/confirm",
    );
  if (url.username !== '' || url.password !== '') throw new Error('must not contain a user name or password');
  return url.href;
}
