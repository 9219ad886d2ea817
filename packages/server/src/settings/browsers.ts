// Settings: cookies, and the pages of other origins.
import { flag, list, setting } from '../platform/config/config.ts';
import { originOf } from '../platform/http/origins.ts';

const origin = (value: string): string => {
  const parsed = originOf(value);
  if (parsed === undefined)
    throw new Error(
      `has "${value}", which is not an origin; write scheme and host, such as https://app.example.com`,
    );
  return parsed;
};
/** A token (RFC 9110, 5.6.2). `*` is one, but stands for no other name where credentials are sent. */
const headerName = (value: string): string => {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(value) || value === '*')
    throw new Error(
      `has "${value}", which is not the name of a header; write names such as x-datadog-trace-id`,
    );
  return value;
};
/** A token (RFC 9110, 5.6.2), as the name of a cookie is one (RFC 6265, 4.1.1). */
const cookiePrefix = (value: string): string => {
  if (!/^[\w!#$%&'*+.^`|~-]{0,64}$/.test(value))
    throw new Error(
      `is "${value}", which cannot begin the name of a cookie; write at most 64 letters, digits, - or _, such as __Host-castellan_`,
    );
  return value;
};

export const browsersSettings = {
  cookieSecure: setting(
    'COOKIE_SECURE',
    flag,
    'Send the refresh cookie over https only. Browsers treat localhost as secure.',
    { default: 'true' },
  ),
  cookiePrefix: setting(
    'COOKIE_PREFIX',
    cookiePrefix,
    'Goes before the name of every cookie, such as `__Host-castellan_`. With `__Host-`, browsers take the cookies from no other host and no http; their path is `/` then.',
    { default: '', shown: 'none' },
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    list(origin),
    'Origins whose pages may call the API with cookies, comma-separated.',
    { default: '', shown: 'none' },
  ),
  corsHeaders: setting(
    'CORS_HEADERS',
    list(headerName),
    'Further request headers that pages of `CORS_ORIGINS` may send, comma-separated, such as those of a tracing library. Those of the API and of trace context are always allowed.',
    { default: '', shown: 'none' },
  ),
};
