// The page for a browser that an application sent with a request to sign out that cannot be answered. It leads nowhere.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Language } from '../../../platform/languages.ts';
import { factPage, pageLanguage } from '../plain-page.ts';
import type { SignOutRefusal } from './request.ts';

type Reason = SignOutRefusal | 'finished';
type Texts = {
  fault: string;
  finished: string;
  nobody: string;
  request: string;
  reasons: Readonly<Record<Reason, string>>;
};

const texts: Readonly<Record<Language, Texts>> = {
  en: {
    fault: 'This application sent a request that cannot be answered',
    finished: 'This sign-out is finished',
    nobody: 'Nobody was signed out.',
    request: 'Request',
    reasons: {
      malformed: 'A parameter of the request is repeated or too long.',
      wrong_hint: 'The id_token_hint is no ID token of this service for this application.',
      unknown_application: 'No application has this client_id.',
      wrong_address: 'The post_logout_redirect_uri is not registered for this application.',
      finished: 'It was answered or has expired. Begin again in the application.',
    },
  },
  de: {
    fault: 'Diese Anwendung hat eine Anfrage gesendet, die nicht beantwortet werden kann',
    finished: 'Diese Abmeldung ist erledigt',
    nobody: 'Niemand wurde abgemeldet.',
    request: 'Anfrage',
    reasons: {
      malformed: 'Ein Parameter der Anfrage ist doppelt oder zu lang.',
      wrong_hint: 'Der id_token_hint ist kein ID-Token dieses Dienstes für diese Anwendung.',
      unknown_application: 'Keine Anwendung hat diese client_id.',
      wrong_address: 'Die post_logout_redirect_uri ist für diese Anwendung nicht eingetragen.',
      finished: 'Sie ist beantwortet oder abgelaufen. Beginnen Sie in der Anwendung noch einmal.',
    },
  },
};

/** Sends 400 with what is wrong and the request id. `given`: the query or the form, which may name languages. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  reason: Reason,
  { ui_locales: uiLocales }: Readonly<Record<string, unknown>>,
): FastifyReply {
  const language = pageLanguage(typeof uiLocales === 'string' ? uiLocales : null, request.client);
  const { fault, finished, nobody, request: label, reasons } = texts[language];
  return reply
    .code(400)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .type('text/html; charset=utf-8')
    .send(
      factPage({
        language,
        title: reason === 'finished' ? finished : fault,
        sentences: [reasons[reason], nobody],
        facts: [[label, request.id]],
      }),
    );
}
