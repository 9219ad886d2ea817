// Sends one signed event to the address of a webhook, and says how that ended.
// It must not follow a redirect, nor tell anything of the answer but its status.

import { performance } from 'node:perf_hooks';
import type { EventMessage } from '@castellan/contract/event-messages';
import type { DeliveryCause } from '@castellan/contract/webhooks';
import type { Attempt } from '../../../platform/delivery/outcomes.ts';
import { SEND_LIMIT_MS } from '../../../platform/delivery/targets.ts';
import { askOutside, OutboundError, type OutboundSettings } from '../../../platform/outbound/request.ts';
import { readRetryAfter, signedHeaders } from '../../../platform/outbound/signed-message.ts';
import type { WebhookVault } from '../vault.ts';
import type { MessageRow } from './message-rows.ts';

export type SendDeps = { webhookVault: WebhookVault; settings: OutboundSettings };

/** `cause` is one of those that the API shows. */
export type WebhookAttempt = Attempt & { cause: DeliveryCause | null };

/** Makes one attempt. Never rejects for what the endpoint does. */
export async function sendEvent(
  { webhookVault, settings }: SendDeps,
  { url, secrets }: Pick<MessageRow, 'url' | 'secrets'>,
  id: string,
  event: EventMessage,
): Promise<WebhookAttempt> {
  const keys = secrets.map((one) => webhookVault.open(one.id, Buffer.from(one.sealed, 'base64')));
  const signing = keys.filter((key) => key !== undefined);
  if (signing.length === 0) return { status: null, cause: 'secret', ms: 0 };
  const body = JSON.stringify(event);
  const begun = performance.now();
  try {
    const { status, headers } = await askOutside(settings, {
      url,
      method: 'POST',
      headers: signedHeaders(id, body, signing),
      body,
      plain: 'private',
      maxBytes: 0,
      timeoutMs: SEND_LIMIT_MS,
    });
    const ms = performance.now() - begun;
    if (status >= 200 && status < 300) return { status, cause: null, ms };
    const askedMs = readRetryAfter(headers['retry-after']);
    return {
      status,
      cause: 'status',
      ms,
      ...(askedMs === undefined ? {} : { askedMs }),
      ...(status === 410 ? { isGone: true } : {}),
    };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { status: null, cause: causeOf(error.code), ms: performance.now() - begun };
  }
}

/** Codes of Node's resolver. */
const dnsCodes = /^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EREFUSED|EBADNAME)/;
/** Codes of OpenSSL about certificates, and of Node and OpenSSL about the protocol. */
const tlsCodes =
  /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERROR_IN_|INVALID_|HOSTNAME_|PATH_LENGTH)/;

/** Returns what the API says of a code of OutboundError. */
function causeOf(code: string): DeliveryCause {
  if (code === 'address_refused' || code === 'not_https') return 'refused_address';
  if (code === 'timeout') return 'timeout';
  if (dnsCodes.test(code)) return 'dns';
  return tlsCodes.test(code) ? 'tls' : 'connect';
}
