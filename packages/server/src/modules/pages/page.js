// Shared by the pages: reads the token from the URL, calls the service and shows the result.
// A token is kept for this tab only, until it is used or invalid.

export const element = (id) => document.getElementById(id);

/**
 * Returns the token of the mailed link, or null, and removes it from the address bar and the history. After a reload, or
 * in a tab that the browser discarded, it is found again until `forgetToken`.
 */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (location.hash) history.replaceState(null, '', location.pathname);
  try {
    if (token) sessionStorage.setItem(location.pathname, token);
    return token || sessionStorage.getItem(location.pathname);
  } catch {
    return token || null; // without storage, only a reload loses the token
  }
}

/** Removes the token. Call it when the token is used or invalid. */
export function forgetToken() {
  try {
    sessionStorage.removeItem(location.pathname);
  } catch {
    // Without storage, the token was not kept.
  }
}

// Opening a second link in this tab changes only the fragment, so the page must reload.
addEventListener('hashchange', () => location.reload());

const offline = {
  ok: false,
  code: 'offline',
  detail: 'The service cannot be reached. Check your connection and try again.',
};

/** Returns `{ok, code, detail, errors, message, data}`; never throws. */
export async function post(path, body) {
  try {
    const csrf = await (await fetch('api/v1/auth/csrf-token', { cache: 'no-store' })).json();
    const response = await fetch(`api/v1/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': csrf.data?.csrf_token ?? '' },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.ok) return { ok: true, message: answer.message, data: answer.data };
    return { ok: false, code: answer.code, ...errorOf(answer, response.headers.get('retry-after')) };
  } catch {
    return offline;
  }
}

function errorOf({ code, detail }, retryAfter) {
  if (code === 'csrf_invalid')
    return { detail: 'Your browser did not keep our cookie. Allow cookies for this site and try again.' };
  if (code === 'rate_limited')
    return { detail: `Too many requests. Try again in ${duration(Number(retryAfter))}.` };
  return typeof detail === 'object' ? { detail: detail.message, errors: detail.errors } : { detail };
}

function duration(seconds) {
  const [count, unit] = seconds < 90 ? [seconds || 1, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Shows a notice and moves the focus to it. `list` becomes list items. Everything is inserted as text, never as markup. */
export function showNotice(kind, text, list = []) {
  const notice = document.createElement('div');
  notice.className = `notice ${kind}`;
  notice.tabIndex = -1;
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  notice.append(paragraph);
  if (list.length > 0) {
    const items = document.createElement('ul');
    items.append(...list.map((one) => Object.assign(document.createElement('li'), { textContent: one })));
    notice.append(items);
  }
  element('message').replaceChildren(notice);
  notice.focus();
}

/** Shows the final result: a new heading, and the link to the operator's app if APP_URL is set. */
export function finish(title, text) {
  forgetToken();
  showOnly('continue');
  setTitle(title);
  showNotice('good', text);
}

/** Hides all parts of the page below the message, except these. */
export function showOnly(...ids) {
  for (const part of document.querySelectorAll('#message ~ :not(noscript)'))
    part.hidden = !ids.includes(part.id);
}

export function setTitle(title) {
  element('title').textContent = title;
  document.title = `${title} · ${element('service').textContent}`;
}

/** Returns the state of the link; null if the service does not respond, in which case the click shows the error. */
export async function checkLink(purpose, token) {
  const answer = await post('links/check', { purpose, token });
  return answer.ok ? answer.data : null;
}

/** Returns the field for the new password, and connects the checkbox that shows the password. */
export function passwordField() {
  const password = element('password');
  element('show').addEventListener('change', (event) => {
    password.type = event.target.checked ? 'text' : 'password';
  });
  password.addEventListener('input', () => password.removeAttribute('aria-invalid'));
  return password;
}

/** Shows the error of a response. Marks the password field as invalid if the password was rejected. */
export function showRefusal(answer) {
  if (answer.errors) element('password').setAttribute('aria-invalid', 'true');
  showNotice('error', answer.detail, answer.errors);
}

/** Runs `work` on submit, once at a time. The button is disabled for assistive technology while it runs. */
export function onSubmit(form, work) {
  const button = form.querySelector('button[type=submit]');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (button.getAttribute('aria-disabled') === 'true') return;
    button.setAttribute('aria-disabled', 'true');
    await work();
    button.removeAttribute('aria-disabled');
  });
}
