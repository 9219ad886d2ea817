// The pages that the service writes itself, without a file of the console: one sentence, and what an administrator needs.
// They must work without the console's build, and they link nowhere.
import { hash } from 'node:crypto';
import Type from 'typebox';
import { preferredLanguage } from '../../platform/http/accept-language.ts';
import { type Language, languages } from '../../platform/languages.ts';

/** Returns the language that the application asks for (`ui_locales`); null if it asks for none that pages have. */
export const askedLanguage = (uiLocales: string | null): Language | null =>
  preferredLanguage(languages, uiLocales?.split(' ').join(',') ?? null);

/** Returns the language that the application asks for, else that of the browser. */
export const pageLanguage = (
  uiLocales: string | null,
  { acceptLanguage }: { acceptLanguage: string | null },
): Language => askedLanguage(uiLocales) ?? preferredLanguage(languages, acceptLanguage) ?? 'en';

/** Returns the address of a page of the console, of a request and in a language; null: of none, and in that of the browser. */
export function consolePage(
  path: string,
  { interaction, language }: { interaction: string | null; language: Language | null },
): string {
  const query = new URLSearchParams({
    ...(interaction === null ? {} : { interaction }),
    ...(language === null ? {} : { ui_locales: language }),
  });
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Returns the response of a page, for the schema of its route. */
export const pageResponse = (description: string) => ({
  content: { 'text/html': { schema: Type.String({ description }) } },
});

export const errorPageResponse = pageResponse('A page that says what is wrong. It leads nowhere.');

/** Returns text for HTML. Line ends become references: a browser would change them when it reads the page. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"'\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);

/** As the console's pages for people who are not signed in look. */
const STYLE =
  ':root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--line:#e1e4e9;--ink:#16191d;--ink-soft:#566070}' +
  '@media(prefers-color-scheme:dark){:root{--page:#1a1b1e;--card:#242528;--line:#3a3d42;--ink:#e8eaed;--ink-soft:#abb1bb}}' +
  '*{box-sizing:border-box}' +
  'body{margin:0;padding:clamp(16px,8vh,88px) 16px 16px;background:var(--page);color:var(--ink);' +
  'font:1rem/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}' +
  'main{display:grid;gap:18px;width:min(560px,100%);margin:auto;padding:clamp(20px,6vw,36px);background:var(--card);' +
  'border:1px solid var(--line);border-radius:14px;box-shadow:0 8px 32px rgb(0 0 0/5%);overflow-wrap:anywhere}' +
  'h1,p,dl,dd{margin:0}h1{font-size:1.5rem;font-weight:680;letter-spacing:-.01em;line-height:1.25}' +
  'dl{display:grid;gap:2px}dt{color:var(--ink-soft);font-size:.84rem}dd+dt{margin-top:10px}code{font-size:.92rem}' +
  'button{font:inherit;font-weight:600;padding:9px 18px;color:var(--card);background:var(--ink);border:0;border-radius:8px;cursor:pointer}' +
  'button:hover{opacity:.88}button:focus-visible{outline:2px solid var(--ink);outline-offset:2px}';

/** Names the style in the policy of a page that may have no other. */
export const STYLE_SOURCE = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

type Page = {
  language: Language;
  title: string;
  /** HTML. */
  body: string;
};

export const plainPage = ({ language, title, body }: Page): string =>
  `<!doctype html><html lang="${language}"><head><meta charset="utf-8">` +
  '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">' +
  `<meta name="robots" content="noindex"><title>${escaped(title)}</title><style>${STYLE}</style></head>` +
  `<body><main>${body}</main></body></html>`;

/** Facts with their labels. A fact may have several values. */
export type Facts = readonly (readonly [label: string, ...values: string[]])[];

/** Returns the page of a request that is answered nowhere else: what is wrong, and what helps to mend it. */
export function factPage({
  language,
  title,
  sentences,
  facts,
}: Pick<Page, 'language' | 'title'> & { sentences: readonly string[]; facts: Facts }): string {
  const paragraphs = sentences.map((one) => `<p>${escaped(one)}</p>`);
  const entries = facts.map(
    ([label, ...values]) =>
      `<dt>${escaped(label)}</dt>${values.map((one) => `<dd><code>${escaped(one)}</code></dd>`).join('')}`,
  );
  const body = `<h1>${escaped(title)}</h1>${paragraphs.join('')}<dl>${entries.join('')}</dl>`;
  return plainPage({ language, title, body });
}
