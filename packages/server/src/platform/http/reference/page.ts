// The reference for people: the OpenAPI document as one page that needs no script and asks nobody else for anything.
// It must show nothing that the document does not say.
import { defaultDetailOf } from '@castellan/contract/errors';
import { type Html, html, inline, page, prose } from './html.ts';
import type { Answer, OpenApiDocument, Operation } from './openapi.ts';
import { bodyRows, parameterRows, table } from './schema-table.ts';
import { answersOf } from './shared-answers.ts';

type Entry = { method: string; path: string; operation: Operation };

export function renderReference(document: OpenApiDocument): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const sections = document.tags.map(({ name, description }) => ({
    name,
    description,
    anchor: `tag-${name.toLowerCase().replaceAll(' ', '-')}`,
    entries: entries.filter((entry) => entry.operation.tags[0] === name),
  }));
  const contents = html`<ul>${sections.map(
    (section) =>
      html`<li><a class="tag" href="#${section.anchor}">${section.name}</a><ul>${section.entries.map(
        ({ method, operation }) =>
          html`<li><a href="#${operation.operationId}"><span class="m ${method.toLowerCase()}">${method}</span>${operation.summary}</a></li>`,
      )}</ul></li>`,
  )}</ul>`;
  return page({
    title: 'API reference · Castellan',
    root: '',
    header: html`<nav aria-label="Documents"><a href="docs/errors">Error codes</a><a href="docs/openapi.json">OpenAPI 3.1</a></nav>`,
    body: html`<div class="layout">
<nav class="side" aria-label="Operations">${contents}</nav>
<main id="content">
<h1>API reference <small>version ${document.info.version}</small></h1>
<details class="contents"><summary>All operations</summary><nav aria-label="Operations">${contents}</nav></details>
${prose(document.info.description)}
${walkthrough(baseUrl(document))}
${sections.map(
  (
    section,
  ) => html`<section aria-labelledby="${section.anchor}"><h2 id="${section.anchor}">${section.name}</h2>
${section.description && html`<p class="lead">${section.description}</p>`}
${section.entries.map((entry) => renderOperation(entry, document))}</section>`,
)}
</main></div>`,
  });
}

const baseUrl = (document: OpenApiDocument): string => {
  const [server] = document.servers as { variables: { public_url: { default: string } } }[];
  return server?.variables.public_url.default ?? '';
};

/** The variables of the examples below, each set by a command that can be pasted. */
const walkthrough = (url: string): Html => html`<h3>Trying it in a shell</h3>
<p>The examples below use the cookie jar and the two variables that these lines make:</p>
<pre tabindex="0"><code>CSRF=$(curl -s -c jar -b jar ${url}/api/v1/auth/csrf-token | jq -r .data.csrf_token)
TOKEN=$(curl -s -c jar -b jar ${url}/api/v1/auth/login -H "X-CSRF-Token: $CSRF" \\
  -H 'Content-Type: application/json' -d '{"email":"…","password":"…"}' | jq -r .data.access_token)</code></pre>`;

function renderOperation({ method, path, operation }: Entry, document: OpenApiDocument): Html {
  const schemas = document.components.schemas ?? {};
  const body = operation.requestBody?.content['application/json'];
  const answers = answersOf(operation, document);
  const successes = answers.filter(([, answer]) => !answer['x-error-codes']);
  return html`<article aria-labelledby="${operation.operationId}">
<h3 id="${operation.operationId}"><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="address"><span class="m ${method.toLowerCase()}">${method}</span> <code>${path}</code> ${accessChip(operation)}</p>
<div class="columns"><div>
${prose(operation.description, 4)}
${table('Parameters', parameterRows(operation.parameters ?? [], schemas))}
${body && table('Body', bodyRows(body.schema, schemas))}
${errorList(answers)}
</div><div class="samples">
${sample('Request', curl({ method, path, operation }, baseUrl(document)))}
${successes.map(([status, answer]) => sample(`Answer ${status} ${answer.description}`, answerText(answer)))}
</div></div>
</article>`;
}

const accessChip = (operation: Operation): Html =>
  html`<span class="chip">${operation['x-permission'] ?? operation['x-access']}</span>`;

const sample = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>`;

function answerText(answer: Answer): string {
  const content = answer.content?.['application/json'];
  return content ? JSON.stringify(content.example, null, 2) : '(no body)';
}

function curl({ method, path, operation }: Entry, url: string): string {
  const body = operation.requestBody?.content['application/json'];
  const needs = Object.assign({}, ...operation.security) as Record<string, unknown>;
  const address = `${url}${path}`.replaceAll(
    /\{(\w+)\}/g,
    (_match, name: string) => `$${name.toUpperCase()}`,
  );
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${address}"`,
    ...('bearer' in needs ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...('csrfToken' in needs ? ['-b jar -c jar -H "X-CSRF-Token: $CSRF"'] : []),
    ...(body ? [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body.example, null, 2)}'`] : []),
  ].join(' \\\n  ');
}

function errorList(answers: [string, Answer][]): Html {
  const errors = answers.filter(([, answer]) => answer['x-error-codes']);
  if (errors.length === 0) return html``;
  const items = errors.flatMap(([status, answer]) =>
    (answer['x-error-codes'] ?? []).map(
      (code) => html`<div><dt>${status} <a href="docs/errors#${code}"><code>${code}</code></a></dt>
<dd>${inline(defaultDetailOf(code))}</dd></div>`,
    ),
  );
  return html`<details><summary>Errors <span class="statuses">${errors.map(([status]) => status).join(' ')}</span></summary>
<dl>${items}</dl></details>`;
}
