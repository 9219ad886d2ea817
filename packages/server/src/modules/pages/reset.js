// Sets a new password with the token of the mailed link. The service judges the password; the page shows its verdict.
import { element, finish, onSubmit, post, setTitle, takeToken, tell } from './page.js';

const token = takeToken();
const password = element('password');

function offerNewLink(text) {
  setTitle('This link does not work');
  element('reset').hidden = true;
  element('again').hidden = false;
  tell('error', text);
}

element('show').addEventListener('change', (event) => {
  password.type = event.target.checked ? 'text' : 'password';
});
password.addEventListener('input', () => password.removeAttribute('aria-invalid'));

onSubmit(element('reset'), async () => {
  const answer = await post('password-reset/confirm', { token, new_password: password.value });
  if (answer.ok) {
    password.value = '';
    finish('Your password is set', 'Every session has ended. Sign in with the new password.');
  } else if (answer.code === 'reset_token_invalid') {
    offerNewLink('It has expired, was used, or a newer one was sent.');
  } else {
    if (answer.errors) password.setAttribute('aria-invalid', 'true');
    tell('error', answer.detail, answer.errors);
  }
});

if (token) element('reset').hidden = false;
else offerNewLink('Open this page by the link in our mail.');
