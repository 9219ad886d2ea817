// Sets a new password with the token of the mailed link. The service checks the password; the page shows the errors.
import {
  checkLink,
  element,
  finish,
  forgetToken,
  onSubmit,
  passwordField,
  post,
  setTitle,
  showNotice,
  showOnly,
  showRefusal,
  takeToken,
} from './page.js';

const token = takeToken();
const password = passwordField();

function offerNewLink(text) {
  forgetToken();
  setTitle('This link does not work');
  showOnly('again');
  showNotice('error', text);
}

const offerNewLinkAfterUse = () =>
  offerNewLink('It has expired, was already used, or was replaced by a newer one.');

onSubmit(element('reset'), async () => {
  const answer = await post('password-reset/confirm', { token, new_password: password.value });
  if (answer.ok) {
    password.value = '';
    finish('Your password is set', 'Every session has ended. Sign in with the new password.');
  } else if (answer.code === 'reset_token_invalid') offerNewLinkAfterUse();
  else showRefusal(answer);
});

if (!token) offerNewLink('Open this page with the link in our mail.');
else {
  showOnly('wait');
  if ((await checkLink('reset_password', token))?.valid === false) offerNewLinkAfterUse();
  else showOnly('reset');
}
