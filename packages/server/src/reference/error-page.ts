// The page that lists every error code. The `type` of a problem+json response links to it.
import { STATUS_CODES } from 'node:http';
import { defaultDetailOf, type ErrorCode, errorCatalogue, statusOf } from '@castellan/contract/errors';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const isErrorCode = (name: string): name is ErrorCode => name in errorCatalogue;

const entryOf = (
  code: ErrorCode,
): string => `<div id="${code}"><dt><a href="#${code}"><code>${code}</code></a></dt>
<dd>${escapeHtml(defaultDetailOf(code))}</dd></div>`;

/** Returns the HTML, with one anchor per code, grouped by status. */
export function renderErrorCodes(): string {
  const byStatus = [...Map.groupBy(Object.keys(errorCatalogue).filter(isErrorCode), statusOf)].sort(
    ([a], [b]) => a - b,
  );
  const sections = byStatus.map(
    ([status, codes]) =>
      `<h2>${status} ${STATUS_CODES[status]}</h2>\n<dl>${codes.map(entryOf).join('\n')}</dl>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Error codes · Castellan</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="reference.css">
</head>
<body>
<main class="codes">
<p><a href="../docs">API reference</a></p>
<h1>Error codes</h1>
<p>Every failure has one of these in <code>code</code>. A code never changes its meaning; the text may change.</p>
${sections.join('\n')}
</main>
</body>
</html>
`;
}
