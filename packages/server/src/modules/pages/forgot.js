// Asks for the mail with the reset link. The answer is the same whether or not there is such an account.
import { element, finish, onSubmit, post, tell } from './page.js';

onSubmit(element('forgot'), async () => {
  const answer = await post('password-reset/request', { email: element('email').value });
  if (answer.ok) finish('Look into your mail', answer.message);
  else tell('error', answer.detail);
});
