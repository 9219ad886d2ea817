// Requests the reset mail. The response is the same whether or not the account exists.
import { element, finish, onSubmit, post, showNotice } from './page.js';

onSubmit(element('forgot'), async () => {
  const answer = await post('password-reset/request', { email: element('email').value });
  if (answer.ok) finish('Check your mail', answer.message);
  else showNotice('error', answer.detail);
});
