// Verifies the email on a click, never automatically, because mail scanners open links too. A person who did not register
// can decline the registration, or keep the account with a new password.
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
  showOnly('resend');
  showNotice('error', text);
}

const offerNewLinkAfterUse = () =>
  offerNewLink('It has expired, was already used, or was replaced by a newer one. Request a new one:');

const showAlreadyConfirmed = () =>
  finish(
    'Your email address is confirmed',
    'It was already confirmed. You can sign in now and close this page.',
  );

function showFailure(answer) {
  if (answer.code === 'already_verified') showAlreadyConfirmed();
  else if (answer.code === 'verification_token_invalid') offerNewLinkAfterUse();
  else showRefusal(answer);
}

onSubmit(element('confirm'), async () => {
  const answer = await post('verify-email', { token });
  if (answer.ok)
    finish('Your email address is confirmed', 'Thank you. You can sign in now and close this page.');
  else showFailure(answer);
});

onSubmit(element('own'), async () => {
  const answer = await post('verify-email', { token, new_password: password.value });
  if (answer.ok) {
    password.value = '';
    finish(
      'Your email address is confirmed',
      'Thank you. Sign in with the password that you have just chosen.',
    );
  } else showFailure(answer);
});

onSubmit(element('decline'), async () => {
  const answer = await post('registration/decline', { token });
  if (answer.ok) finish('The account is removed', 'Nobody can sign in with it. You can close this page.');
  else showFailure(answer);
});

onSubmit(element('resend'), async () => {
  const answer = await post('resend-verification-email', { email: element('email').value });
  if (answer.ok) finish('Check your mail', answer.message);
  else showNotice('error', answer.detail);
});

if (!token)
  offerNewLink('Open this page with the link in our mail. If you do not have one, request a new one:');
else {
  showOnly('wait');
  const state = await checkLink('verify_email', token);
  if (state?.already_verified) showAlreadyConfirmed();
  else if (state?.valid === false) offerNewLinkAfterUse();
  else {
    element('decline').hidden = state?.declinable === false;
    showOnly('confirm', 'other');
  }
}
