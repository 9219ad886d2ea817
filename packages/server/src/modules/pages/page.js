// What the pages share: the token from the address, calls of the service, and telling the visitor what came of it.
// It keeps nothing: a token lives in the page's memory only.

export const element = (id) => document.getElementById(id);

/** The token of the mailed link, or null; the address bar and the history forget it at once. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (location.hash) history.replaceState(null, '', location.pathname);
  return token || null;
}

// A second link opened in this tab changes the fragment only: start over with it.
addEventListener('hashchange', () => location.reload());

const OFFLINE = {
  ok: false,
  code: 'offline',
  detail: 'The service cannot be reached. Check your connection and try again.',
};

/** Answers `{ok, code, detail, errors, message}`; never throws. */
export async function post(path, body) {
  try {
    const csrf = await (await fetch('api/v1/auth/csrf-token', { cache: 'no-store' })).json();
    const response = await fetch(`api/v1/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': csrf.data?.csrf_token ?? '' },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.ok) return { ok: true, message: answer.message };
    return { ok: false, code: answer.code, ...worded(answer, response.headers.get('retry-after')) };
  } catch {
    return OFFLINE;
  }
}

function worded({ code, detail }, retryAfter) {
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

/** Shows a notice and moves the focus to it. `list` are single points; all of it is text, never markup. */
export function tell(kind, text, list = []) {
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

/** The end of the visit: a new heading and nothing left to do but to read. */
export function finish(title, text) {
  setTitle(title);
  for (const form of document.forms) form.hidden = true;
  tell('good', text);
}

export function setTitle(title) {
  element('title').textContent = title;
  document.title = title;
}

/** Runs `work` on submit, once at a time; the button tells that it runs. */
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
