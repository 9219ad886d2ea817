// Entity tags, as they come back from proxies: weakened (`W/"7"`) or with a suffix (`"7-gzip"`, `"7;br"`). Every reader of an
// ETag, If-Match or If-None-Match uses this file. It must not compare tags as texts: a proxy that compresses changes them.

/** A tag and the comma or the end after it (RFC 9110, 8.8.3). Quotes may hold commas. */
const TAG = /[\t ]*(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[\t ]*(?:,|$)/y;
const EMPTY = /[\t ]*(?:,|$)/y;

/** What the service writes ends before one of these; what follows is a proxy's: `-gzip`, `;br`, `-df`, `--gzip`, `/gzip`. */
const SUFFIX = /^[-;/:+.]/;

/** Returns what the tags of a list have between their quotes; null if the list is malformed. */
export function tagsIn(list: string): string[] | null {
  const tags: string[] = [];
  for (let index = 0; index < list.length; ) {
    // RFC 9110, 5.6.1: recipients accept empty elements.
    const form = [TAG, EMPTY].find((one) => {
      one.lastIndex = index;
      return one.test(list);
    });
    if (!form) return null;
    form.lastIndex = index;
    const tag = form.exec(list)?.[1];
    if (tag !== undefined) tags.push(tag);
    index = form.lastIndex;
  }
  return tags;
}

/** Returns the version in what a tag has between its quotes; null if it has none. */
function versionOfTag(tag: string): number | null {
  const digits = /^\d{1,10}(?![^-;/:+.])/.exec(tag)?.[0];
  return digits === undefined ? null : Number(digits);
}

/** Returns the versions of records in If-Match, without the tags that name none; null if the header is malformed. */
export const versionsIn = (list: string): number[] | null =>
  tagsIn(list)
    ?.map(versionOfTag)
    .filter((version) => version !== null) ?? null;

/** Returns the version of the record in an ETag; null without one, as in the ETags of lists. */
export const versionIn = (etag: string | null | undefined): number | null =>
  versionsIn(etag ?? '')?.[0] ?? null;

/** Whether If-None-Match names the tag, which this service wrote (RFC 9110, 13.1.2). A malformed header names none. */
export function knowsTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const [own] = tagsIn(etag) ?? [];
  if (own === undefined) throw new Error(`${etag} is no ETag`);
  return (tagsIn(ifNoneMatch) ?? []).some(
    (tag) => tag === own || (tag.startsWith(own) && SUFFIX.test(tag.slice(own.length))),
  );
}
