// Signs the person out, and leads on to the provider where they are signed out there, too.
import { auth } from './auth.ts';

export async function signOut(): Promise<void> {
  const address = await auth.signOut();
  if (address !== undefined) location.assign(address);
}
