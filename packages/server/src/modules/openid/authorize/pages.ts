// The two pages that the service writes itself: one that sends an answer on as a form, and one for requests without an answer.
import type { Language } from '../../../platform/languages.ts';
import { escaped, factPage, plainPage, STYLE_SOURCE } from '../plain-page.ts';
import { policySourceOf } from './redirect-address.ts';
import type { PageReason } from './request.ts';
import type { ErrorPage } from './service.ts';

/** What `form-post.js` is: it sends the only form of the page. */
export const FORM_POST_SCRIPT = 'document.forms[0].submit();\n';

/** The policy of that page. The address of the application is the only one that its form may go to. */
export const formPolicy = (action: string): string =>
  `default-src 'none'; script-src 'self'; style-src ${STYLE_SOURCE}; form-action ${policySourceOf(action)}; ` +
  "frame-ancestors 'none'; base-uri 'none'";

const onward: Readonly<Record<Language, Record<'title' | 'hint' | 'button', string>>> = {
  en: {
    title: 'Back to the application',
    hint: 'If this page does not go away by itself, choose Continue.',
    button: 'Continue',
  },
  de: {
    title: 'Zurück zur Anwendung',
    hint: 'Wenn diese Seite nicht von selbst verschwindet, wählen Sie Weiter.',
    button: 'Weiter',
  },
};

export function formPage(
  { action, fields }: { action: string; fields: Record<string, string> },
  { basePath, language }: { basePath: string; language: Language },
): string {
  const inputs = Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
    .join('');
  const { title, hint, button } = onward[language];
  return plainPage({
    language,
    title,
    body:
      `<h1>${title}</h1><p>${hint}</p>` +
      `<form method="post" action="${escaped(action)}">${inputs}<button>${button}</button></form>` +
      `<script src="${escaped(basePath)}/form-post.js" defer></script>`,
  });
}

const titles: Readonly<Record<Language, { fault: string; finished: string }>> = {
  en: {
    fault: 'This application sent a request that cannot be answered',
    finished: 'This sign-in is finished',
  },
  de: {
    fault: 'Diese Anwendung hat eine Anfrage gesendet, die nicht beantwortet werden kann',
    finished: 'Diese Anmeldung ist erledigt',
  },
};

const sentences: Readonly<Record<Language, Readonly<Record<PageReason, string>>>> = {
  en: {
    malformed: 'The parameters of the request cannot be read.',
    repeated: 'The request has a parameter twice.',
    unknown_application: 'No active application has this client_id.',
    request_uri: 'The pushed request is unknown, used or expired. Begin again in the application.',
    redirect_uri_missing: 'The request has no redirect_uri.',
    redirect_uri: 'The redirect_uri is not registered for this application.',
    finished: 'It was answered or has expired. Begin again in the application.',
  },
  de: {
    malformed: 'Die Parameter der Anfrage sind nicht lesbar.',
    repeated: 'Die Anfrage hat einen Parameter doppelt.',
    unknown_application: 'Keine aktive Anwendung hat diese client_id.',
    request_uri:
      'Die vorab gesendete Anfrage ist unbekannt, verbraucht oder abgelaufen. Beginnen Sie in der Anwendung neu.',
    redirect_uri_missing: 'Die Anfrage hat keine redirect_uri.',
    redirect_uri: 'Die redirect_uri ist für diese Anwendung nicht eingetragen.',
    finished: 'Sie ist beantwortet oder abgelaufen. Beginnen Sie in der Anwendung noch einmal.',
  },
};

const differences: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    slash: 'Only the slash at the end differs.',
    case: 'Only upper and lower case differ.',
    scheme: 'The scheme (http or https) differs.',
    host: 'The host differs.',
    port: 'The port differs.',
    path: 'The path differs.',
    query: 'The query differs.',
  },
  de: {
    slash: 'Nur der Schrägstrich am Ende ist anders.',
    case: 'Nur Groß- und Kleinschreibung sind anders.',
    scheme: 'Das Schema (http oder https) ist anders.',
    host: 'Der Host ist anders.',
    port: 'Der Port ist anders.',
    path: 'Der Pfad ist anders.',
    query: 'Die Abfrage ist anders.',
  },
};

const labels: Readonly<
  Record<Language, Record<'application' | 'received' | 'registered' | 'request', string>>
> = {
  en: { application: 'Application', received: 'Received', registered: 'Registered', request: 'Request' },
  de: { application: 'Anwendung', received: 'Erhalten', registered: 'Eingetragen', request: 'Anfrage' },
};

/** Returns the page. It links nowhere: the addresses are those of a request that nobody vouches for. */
export function errorPageOf(
  { reason, applicationName, received, difference, registered }: ErrorPage,
  { language, requestId }: { language: Language; requestId: string },
): string {
  const words = labels[language];
  return factPage({
    language,
    title: titles[language][reason === 'finished' ? 'finished' : 'fault'],
    sentences: [
      sentences[language][reason],
      ...(difference === null ? [] : [differences[language][difference] ?? '']),
    ],
    facts: [
      ...(applicationName === null ? [] : [[words.application, applicationName] as const]),
      ...(received === null ? [] : [[words.received, received] as const]),
      ...(registered === null ? [] : [[words.registered, ...registered] as const]),
      [words.request, requestId],
    ],
  });
}
