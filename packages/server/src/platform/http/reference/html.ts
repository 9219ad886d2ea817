// HTML from templates: every value is escaped unless it is markup made here.
// It must not accept markup from anywhere else.

export type Html = { readonly markup: string };
type Value = Html | string | number | false | null | undefined | readonly Html[];

export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: parts.map((part, at) => part + (at < values.length ? write(values[at]) : '')).join('') };
}

function write(value: Value): string {
  if (value === false || value === null || value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'markup' in value ? value.markup : value.map((one) => one.markup).join('');
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The little Markdown that our sentences use: `code`, paragraphs, `## ` headings, `- ` lists. */
export function prose(markdown: string, headingLevel: 3 | 4 = 3): Html {
  const blocks = markdown.split(/\n{2,}/).map((block) => {
    if (block.startsWith('## '))
      return headingLevel === 3 ? html`<h3>${block.slice(3)}</h3>` : html`<h4>${block.slice(3)}</h4>`;
    if (block.startsWith('- '))
      return html`<ul>${block
        .slice(2)
        .split(/\n- /)
        .map((item) => html`<li>${inline(item)}</li>`)}</ul>`;
    return html`<p>${inline(block)}</p>`;
  });
  return html`${blocks}`;
}

export function inline(text: string): Html {
  const parts = text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%234263eb' d='M8 0l7 2.5V8c0 4-3 6.8-7 8-4-1.2-7-4-7-8V2.5z'/%3E%3C/svg%3E";

/** `root` leads from the page to /docs, relative, so that a path prefix in front of the service does no harm. */
export function page(options: { title: string; root: '' | '../'; header: Html; body: Html }): string {
  const docs = options.root === '' ? 'docs' : '../docs';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${options.title}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${docs}/reference.css">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="top"><a class="brand" href="${docs}">Castellan</a>${options.header}</header>
${options.body}
</body>
</html>
`.markup;
}
