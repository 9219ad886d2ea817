// Signs the person out. The gate leaves the page afterwards, in one place, so that no navigation overtakes another.
import { addressOf } from '../../common/page-settings.ts';
import { auth } from './auth.ts';

let ending: Promise<string | undefined> = Promise.resolve(undefined);

export async function signOut(): Promise<void> {
  ending = auth.signOut();
  await ending;
}

/** Returns where the browser goes after a sign-out: to the provider that signs the person out, too, or to the sign-in page. */
export async function addressAfterSignOut(): Promise<string> {
  const address = await ending.catch(() => undefined);
  return address ?? addressOf('/login');
}
