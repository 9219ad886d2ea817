// The list of every error code: what the `type` of a problem+json answer links to.
// It must list codes that no operation declares too: some are answered before an operation is known.

import { STATUS_CODES } from 'node:http';
import { defaultDetailOf, type ErrorCode, errorCatalogue, statusOf } from '@castellan/contract/errors';
import { html, inline, page } from './html.ts';
import type { OpenApiDocument } from './openapi.ts';
import { answersOf } from './shared-answers.ts';

export function renderErrorCodes(document: OpenApiDocument): string {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const usersOf = (code: ErrorCode) =>
    operations.filter((one) =>
      answersOf(one, document).some(([, answer]) => answer['x-error-codes']?.includes(code)),
    );
  const byStatus = [...Map.groupBy(Object.keys(errorCatalogue) as ErrorCode[], statusOf)].sort(
    ([a], [b]) => a - b,
  );
  return page({
    title: 'Error codes · Castellan',
    root: '../',
    header: html`<nav aria-label="Documents"><a href="../docs">API reference</a><a href="openapi.json">OpenAPI 3.1</a></nav>`,
    body: html`<main id="content" class="narrow"><h1>Error codes</h1>
<p>Every failure carries one of these in <code>code</code>. Codes keep their meaning; sentences may be worded better one day.</p>
${byStatus.map(
  ([status, codes]) => html`<section aria-labelledby="status-${status}">
<h2 id="status-${status}">${status} ${STATUS_CODES[status]}</h2>
<dl>${codes.map(
    (code) => html`<div id="${code}"><dt><a href="#${code}"><code>${code}</code></a></dt>
<dd>${inline(defaultDetailOf(code))}${whereUsed(usersOf(code), operations.length)}</dd></div>`,
  )}</dl></section>`,
)}</main>`,
  });
}

// Longer lists say nothing any more.
const MAX_NAMED = 6;

function whereUsed(operations: OpenApiDocument['paths'][string][string][], total: number) {
  if (operations.length === 0) return html`<small>Before an operation is known.</small>`;
  if (operations.length > MAX_NAMED) return html`<small>${operations.length} of ${total} operations.</small>`;
  const links = operations.map(
    (one, at) => html`${at > 0 && ', '}<a href="../docs#${one.operationId}">${one.summary}</a>`,
  );
  return html`<small>${links}</small>`;
}
