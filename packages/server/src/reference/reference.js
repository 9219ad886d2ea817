// The session of the API reference: signs in, and adds the CSRF token and the access token to requests from this page.
// Both live in memory only; a reload signs out.
// The viewer's validation library tries eval once to see whether it may; the content policy would report that.
globalThis.__zod_globalConfig = { jitless: true };

const api = new URL('./api/v1/', location.href);
const session = { token: null, csrf: null, email: null };
const plainFetch = window.fetch.bind(window);
const safe = new Set(['GET', 'HEAD', 'OPTIONS']);

async function csrfToken() {
  if (session.csrf === null) {
    const answer = await plainFetch(new URL('auth/csrf-token', api), { credentials: 'same-origin' });
    session.csrf = (await answer.json()).data.csrf_token;
  }
  return session.csrf;
}

/** Sends a request of this page to the API with what it needs; a header that the reader wrote stays. */
async function send(input, init) {
  const request = new Request(input, init);
  if (!request.url.startsWith(api.href)) return plainFetch(request);
  const headers = new Headers(request.headers);
  if (!/^bearer \S/i.test(headers.get('authorization') ?? '')) {
    headers.delete('authorization');
    if (session.token !== null) headers.set('authorization', `Bearer ${session.token}`);
  }
  if (!safe.has(request.method) && !/^[\w-]{72}$/.test(headers.get('x-csrf-token') ?? ''))
    headers.set('x-csrf-token', await csrfToken());
  const answer = await plainFetch(new Request(request, { headers, credentials: 'same-origin' }));
  await follow(new URL(request.url).pathname.slice(api.pathname.length - 1), answer);
  return answer;
}

/** Takes over the token of any operation that answers one, and forgets it with the session. */
async function follow(path, answer) {
  if (answer.status === 403 && (await codeOf(answer)) === 'csrf_invalid') session.csrf = null;
  if (!answer.ok) return;
  if (path === '/auth/logout' || path === '/auth/logout/all') return show(null, null);
  if (!/^\/auth\/(login|change_password|refresh|new_access_token)$/.test(path)) return;
  const { data } = await answer.clone().json();
  show(data.access_token, data.user?.email ?? session.email);
}

const codeOf = async (answer) =>
  (
    await answer
      .clone()
      .json()
      .catch(() => ({}))
  ).code;

const element = (id) => document.getElementById(id);
function show(token, email) {
  session.token = token;
  session.email = email;
  element('sign-in').hidden = token !== null;
  element('sign-out').hidden = token === null;
  element('told').textContent =
    token === null
      ? 'Sign in to send requests from this page.'
      : `Signed in as ${email ?? 'the holder of the token'}.`;
}

element('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  const { email, password } = Object.fromEntries(new FormData(event.target));
  element('told').textContent = 'Signing in…';
  try {
    const answer = await send(new URL('auth/login', api), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    if (answer.ok) event.target.reset();
    else element('told').textContent = (await answer.json()).detail;
  } catch {
    element('told').textContent = 'The service cannot be reached. Try again.';
  }
});

element('sign-out').addEventListener('click', async () => {
  await send(new URL('auth/logout', api), { method: 'POST' }).catch(() => undefined);
  show(null, null);
});

window.castellanFetch = send;
