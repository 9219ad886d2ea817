// The sign-in page as it looks before its scripts run, as HTML for the build. pages/Login.tsx replaces it.
// It must have the measures of that page, and nothing in it may work: what is typed too early would be lost.
import type { AuthTexts } from './messages/en/index.ts';

/** Languages that people can choose, by their tags. */
type Languages = readonly { tag: string; name: string }[];

const shield =
  '<svg viewBox="0 0 28 28" width="32" height="32"><rect width="28" height="28" rx="7" fill="var(--accent)"/>' +
  '<path fill="var(--accent-contrast)" d="M14 5l7 2.6v5.6c0 4.6-2.9 7.9-7 9.8-4.1-1.9-7-5.2-7-9.8V7.6z"/></svg>';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Returns the frame in one language, with placeholders that the service fills in. Styles show the one of the page. */
export function loginFrame(tag: string, texts: AuthTexts, languages: Languages): string {
  const field = (label: string): string =>
    `<div class="field"><label>${escapeHtml(label)}</label><input disabled></div>`;
  const buttons = languages.map(
    (one) =>
      `<button disabled${one.tag === tag ? ' aria-current="true"' : ''}>${escapeHtml(one.name)}</button>`,
  );
  const { title, submit, forgot, noAccount, register } = texts.login;
  return [
    `<div class="frame" lang="${tag}" aria-hidden="true" inert><main>`,
    '<p class="brand">{{#logo}}<img src="./brand/logo" alt="" width="{{logo_width}}" height="36">{{/logo}}',
    `{{#own_mark}}${shield}{{/own_mark}}<span>{{service_name}}</span></p>`,
    `<h1>${escapeHtml(title)}</h1><form>${field(texts.email)}${field(texts.password)}`,
    `<button disabled>${escapeHtml(submit)}</button></form>`,
    `<p class="links"><a href="./forgot">${escapeHtml(forgot)}</a>`,
    `<span>${escapeHtml(noAccount)} <a href="./register">${escapeHtml(register)}</a></span></p>`,
    `</main><footer><nav>${buttons.join('')}</nav></footer></div>`,
  ].join('');
}
