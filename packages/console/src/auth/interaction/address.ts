// The request of an application that a page is about, as its address names it: `?interaction=…`.
// It must stay small: every visitor of the sign-in page loads it.
import { language } from '../../common/language.ts';
import { addressOf } from '../../common/page-settings.ts';

const NAME = 'interaction';

/** 32 random bytes as base64url. */
const ID = /^[\w-]{43}$/;

/** Returns the id of the request; null without one, empty for a text that is no id, such as one that was cut off. */
export function interactionId(search: string = location.search): string | null {
  const id = new URLSearchParams(search).get(NAME);
  return id === null || ID.test(id) ? id : '';
}

/** Returns the address of one of our pages, which goes on with the request that this page is about, if it is about one. */
export function onwardAddress(path: string): string {
  const id = interactionId();
  const asked = location.search.includes('ui_locales') ? `&ui_locales=${language}` : '';
  return addressOf(id === null ? path : `${path}?${NAME}=${id}${asked}`);
}
