// The pages of people who are not signed in: sign in, register, confirm an email, set a password.
// They must stay light: no component library, no router.
import { type ReactElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { dropToken } from '../common/acting/storage.ts';
import { markDocument } from '../common/language.ts';
import { addressOf, pageSettings } from '../common/page-settings.ts';
import './auth.css';
import { mayHaveSession } from './client.ts';
import { interactionId } from './interaction/address.ts';
import { Login } from './pages/Login.tsx';
import { loadTexts } from './text.ts';
import { takeToken } from './token.ts';

type Page = (props: { token: string | null }) => ReactElement;

/** Each loads when it is opened, except the first one that most people see. */
const pages: Readonly<Record<string, () => Page | Promise<Page>>> = {
  '/login': () => Login,
  '/register': async () => (await import('./pages/Register.tsx')).Register,
  '/check-email': async () => (await import('./pages/CheckEmail.tsx')).CheckEmail,
  '/verify-email': async () => (await import('./pages/VerifyEmail.tsx')).VerifyEmail,
  '/forgot': async () => (await import('./pages/Forgot.tsx')).Forgot,
  '/reset': async () => (await import('./pages/Reset.tsx')).Reset,
  '/invitation': async () => (await import('./pages/Invitation.tsx')).invitationPage(),
  '/confirm-email': async () => (await import('./pages/EmailLink.tsx')).emailLinkPage('change_email'),
  '/undo-email': async () => (await import('./pages/EmailLink.tsx')).emailLinkPage('revert_email'),
  '/undo-deletion': async () => (await import('./pages/UndoDeletion.tsx')).undoDeletionPage(),
  '/provider': async () => (await import('./pages/provider/load.ts')).providerPage(),
};
/** Pages between an application's request and its answer; the first two also stand alone. */
const betweenPaths: ReadonlySet<string> = new Set([
  '/login',
  '/register',
  '/consent',
  '/device',
  '/sign-out',
]);
const isBetween = (path: string): boolean =>
  betweenPaths.has(path) && (interactionId() !== null || pages[path] === undefined);
const loadBetween = async (path: string): Promise<Page> =>
  (await import('./pages/interaction/load.ts')).interactionPage(path);
/** The service sends this entry at every address that is not there. */
const loadMissing = async (): Promise<Page> => (await import('./pages/Missing.tsx')).Missing;

async function start(): Promise<void> {
  let path = location.pathname.slice(pageSettings.basePath.length);
  if (path === '/' || path === '') {
    if (mayHaveSession()) return location.replace(addressOf('/overview'));
    path = '/login';
    history.replaceState(null, '', addressOf(path));
  }
  // Nobody acts as somebody else where people sign in.
  dropToken();
  // At once, before anything else can read the address.
  const token = takeToken(path === '/login' ? 'recovery' : 'token');
  // A second link that is opened in this tab changes only the fragment, so the page must load again.
  addEventListener('hashchange', () => location.reload());
  markDocument();
  const load = isBetween(path) ? () => loadBetween(path) : (pages[path] ?? loadMissing);
  const root = document.getElementById('root');
  if (!root) throw new Error('The page has no root.');
  const [Page] = await Promise.all([load(), loadTexts()]);
  createRoot(root).render(
    <StrictMode>
      <Page token={token} />
    </StrictMode>,
  );
}

await start();
