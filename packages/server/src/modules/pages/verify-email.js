// Confirms the address on a click, never by itself: mail scanners open links too.
import { element, finish, onSubmit, post, setTitle, takeToken, tell } from './page.js';

const token = takeToken();

function offerNewLink(text) {
  setTitle('This link does not work');
  element('confirm').hidden = true;
  element('resend').hidden = false;
  tell('error', text);
}

onSubmit(element('confirm'), async () => {
  const answer = await post('verify-email', { token });
  if (answer.ok) finish('Your address is confirmed', 'Thank you. You can sign in now and close this page.');
  else if (answer.code === 'already_verified')
    finish('Your address is confirmed', 'It was confirmed before. You can sign in now and close this page.');
  else if (answer.code === 'verification_token_invalid')
    offerNewLink('It has expired, was used, or a newer one was sent. Ask for a new one:');
  else tell('error', answer.detail);
});

onSubmit(element('resend'), async () => {
  const answer = await post('resend-verification-email', { email: element('email').value });
  if (answer.ok) finish('Look into your mail', answer.message);
  else tell('error', answer.detail);
});

if (token) element('confirm').hidden = false;
else offerNewLink('Open this page by the link in our mail. If you have none, ask for a new one:');
