// Loads the viewer of the API reference and gives it the session of the person.
// It must not hand the access token to the viewer: requests pass through the client, which adds it.

import { addressOf } from '../../../common/page-settings.ts';
import { auth } from '../../data/auth.ts';

type Viewer = {
  createApiReference: (target: Element, configuration: object) => { destroy?: () => void };
};

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

const isViewer = (value: unknown): value is Viewer =>
  typeof value === 'object' && value !== null && 'createApiReference' in value;

let loading: Promise<Viewer> | undefined;

/** Loads the script once. It is large, so it loads only when somebody opens the reference. */
function loadViewer(): Promise<Viewer> {
  loading ??= new Promise<Viewer>((resolve, reject) => {
    // Its validation library tries eval once to see whether it may; the content policy would report that.
    Reflect.set(globalThis, '__zod_globalConfig', { jitless: true });
    const script = document.createElement('script');
    script.src = addressOf('/docs/viewer.js');
    script.onload = () => {
      const viewer: unknown = Reflect.get(globalThis, 'Scalar');
      if (isViewer(viewer)) resolve(viewer);
      else reject(new Error('The viewer did not start.'));
    };
    script.onerror = () => {
      script.remove();
      reject(new Error('The viewer could not be loaded.'));
    };
    document.head.append(script);
  }).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

const api = (): string => new URL(addressOf('/api/v1/'), location.href).href;

async function csrfToken(): Promise<string> {
  const answer = await fetch(new URL('auth/csrf-token', api()), { credentials: 'same-origin' });
  const { data } = await answer.json();
  return String(data.csrf_token);
}

/** Sends a request of the viewer. A token that the reader wrote stays; otherwise the request is sent as the person. */
async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  if (!request.url.startsWith(api())) return fetch(request);
  const headers = new Headers(request.headers);
  const hasToken = /^bearer \S/i.test(headers.get('authorization') ?? '');
  if (!hasToken) headers.delete('authorization');
  if (!safeMethods.has(request.method) && !/^[\w-]{72}$/.test(headers.get('x-csrf-token') ?? ''))
    headers.set('x-csrf-token', await csrfToken());
  const { method, signal } = request;
  const body = safeMethods.has(method) ? null : await request.arrayBuffer();
  const complete: RequestInit = { method, headers, signal, credentials: 'same-origin', body };
  const isOwn = hasToken || auth.state !== 'authenticated';
  return isOwn ? fetch(request.url, complete) : auth.fetch(request.url, complete);
}

/** Shows the reference in the element until the signal aborts. Rejects if the viewer cannot be loaded. */
export async function showReference(
  target: HTMLElement,
  scheme: 'light' | 'dark',
  signal: AbortSignal,
): Promise<void> {
  const viewer = await loadViewer();
  signal.throwIfAborted();
  const element = document.createElement('div');
  target.append(element);
  const shown = viewer.createApiReference(element, {
    url: new URL(addressOf('/docs/openapi.json'), location.href).href,
    servers: [
      { url: new URL(addressOf('/'), location.href).href.replace(/\/$/, ''), description: 'This service' },
    ],
    customFetch: send,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    telemetry: false,
    withDefaultFonts: false,
    persistAuth: false,
    hideDarkModeToggle: true,
    forceDarkModeState: scheme,
    defaultOpenAllTags: false,
    documentDownloadType: 'json',
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    authentication: { preferredSecurityScheme: 'bearer' },
  });
  // Keyboards must be able to scroll what scrolls, and the page has one banner: that of the frame.
  const observer = new MutationObserver(() => {
    for (const list of element.querySelectorAll('.endpoints:not([tabindex])'))
      list.setAttribute('tabindex', '0');
    for (const button of element.querySelectorAll('.scalar-code-copy:not([aria-label])'))
      button.setAttribute('aria-label', 'Copy');
    for (const header of element.querySelectorAll('header:not([role])')) header.setAttribute('role', 'group');
  });
  observer.observe(element, { childList: true, subtree: true });
  signal.addEventListener('abort', () => {
    observer.disconnect();
    shown.destroy?.();
    element.remove();
    document.body.classList.remove('dark-mode', 'light-mode');
  });
}
