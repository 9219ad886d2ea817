// Parses bodies of the type application/x-www-form-urlencoded, for operations whose body a standard fixes.
// It must not be lenient: no two programs may read different values from one body.
import { isUtf8 } from 'node:buffer';
import { AppError } from '../../errors.ts';
import { isObject } from '../../unknown-values.ts';
import { publicBody } from '../bodies/body-limits.ts';
import { FORM_TYPE } from '../bodies/form-type.ts';
import { tooManyValues } from '../bodies/json-size.ts';
import type { App } from '../server/server.ts';

/** Makes the routes of this scope take forms instead of JSON. A missing body counts as an empty form. */
export function acceptFormsOnly(scope: App): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    const { form, body = publicBody } = request.routeOptions.config;
    // Fastify passes what is thrown here to the error handler.
    done(null, parseForm(bytes, body.values, isObject(form) ? form.repeatable : []));
  });
  scope.addHook('preValidation', async (request) => {
    request.body ??= {};
  });
}

const malformed = (detail: string): AppError => new AppError('malformed_request', { detail });

/**
 * Returns the fields of a form by name. Fields without a value are left out, as RFC 6749, section 3.1, demands. Throws
 * `malformed_request` for text that is not UTF-8, for a wrong percent-encoding and for a field that is repeated and not
 * `repeatable`, and `body_too_large` for more than `maxFields` fields.
 */
function parseForm(
  bytes: Buffer,
  maxFields: number,
  repeatable: readonly string[],
): Record<string, string | string[]> {
  if (!isUtf8(bytes)) throw malformed('The form is not UTF-8.');
  const parts = bytes.toString().split('&', maxFields + 1);
  if (parts.length > maxFields) throw tooManyValues(maxFields);
  const seen = new Set<string>();
  const fields: [name: string, value: string][] = [];
  const lists = new Map<string, string[]>();
  for (const part of parts) {
    if (part === '') continue;
    const [name, value] = splitField(part);
    if (repeatable.includes(name)) {
      if (value !== '') lists.set(name, [...(lists.get(name) ?? []), value]);
      continue;
    }
    if (seen.has(name)) throw malformed('A field of the form is repeated. Send each field once.');
    seen.add(name);
    if (value !== '') fields.push([name, value]);
  }
  // Defines own members only, so that `__proto__` is a field like any other.
  return Object.fromEntries([...fields, ...lists]);
}

function splitField(part: string): [name: string, value: string] {
  const equals = part.indexOf('=');
  if (equals < 0) return [decodeOrRefuse(part), ''];
  return [decodeOrRefuse(part.slice(0, equals)), decodeOrRefuse(part.slice(equals + 1))];
}

function decodeOrRefuse(text: string): string {
  const decoded = decodeFormText(text);
  if (decoded === undefined) throw malformed('The form has a wrong percent-encoding.');
  return decoded;
}

/** Returns the text that a form encodes as `text`; undefined for a wrong encoding or bytes that are not UTF-8. */
export function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
