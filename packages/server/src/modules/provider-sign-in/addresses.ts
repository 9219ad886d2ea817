// Where browsers go on to: the page that shows how a sign-in at a provider ended, and what it was begun for.
// It must never lead to another site.
import { INTERACTION_ID } from '@castellan/contract/interactions';

/** What a sign-in was begun for. */
export type Onward = { next: string | null; interaction: string | null };

type Settings = { publicUrl: string; basePath: string };

/**
 * Returns the path that `next` names, if it is one of this origin, else null. Browsers resolve dots, drop tabs and take `\` for
 * `/`, so it is judged by what it becomes: a path that, read again, names the same page.
 */
function localPath(next: string | undefined, { publicUrl }: Settings): string | null {
  if (next === undefined || !next.startsWith('/') || !URL.canParse(next, publicUrl)) return null;
  const { origin } = new URL(publicUrl);
  const url = new URL(next, origin);
  const path = url.pathname + url.search + url.hash;
  const isOurs =
    url.origin === origin && URL.canParse(path, origin) && new URL(path, origin).href === url.href;
  return isOurs ? path : null;
}

/** Reads what a sign-in is begun for. Leaves out what leads elsewhere, as the sign-in page does. */
export const onwardOf = (
  { next, interaction_id: interaction }: { next?: string | undefined; interaction_id?: string | undefined },
  settings: Settings,
): Onward => ({
  next: localPath(next, settings),
  interaction: interaction !== undefined && INTERACTION_ID.test(interaction) ? interaction : null,
});

/** Why a sign-in ended. The page has words for each. */
export type FailureKind =
  | 'denied'
  | 'expired'
  | 'unavailable'
  | 'unacceptable'
  | 'not_allowed'
  | 'invitation'
  | 'limited'
  | 'taken'
  | 'session';

const page = (settings: Settings, parameters: Record<string, string | null>): string => {
  const given = Object.entries(parameters).filter((one): one is [string, string] => one[1] !== null);
  return `${settings.publicUrl}/provider?${new URLSearchParams(given)}`;
};

/** The person is signed in. The page keeps a note of the session, and goes on. */
export const signedInPage = (settings: Settings, { next, interaction }: Onward): string =>
  page(settings, {
    result: 'signed_in',
    next:
      interaction === null ? next : `${settings.basePath}/api/v1/oauth/authorize?interaction=${interaction}`,
  });

/** Something is to be done first: `GET /auth/pending-identity` says what. */
export const pendingPage = (settings: Settings, { next, interaction }: Onward): string =>
  page(settings, { result: 'pending', next, interaction });

export const connectedPage = (settings: Settings): string =>
  page(settings, { result: 'connected', next: accountPath(settings) });

/** The page on which a person answers a device. */
export const devicePath = ({ basePath }: Settings, interaction: string): string =>
  `${basePath}/device?interaction=${interaction}`;

export const accountPath = ({ basePath }: Settings): string => `${basePath}/account`;

export const failedPage = (
  settings: Settings,
  { kind, request, provider }: { kind: FailureKind; request: string; provider: string },
  { next, interaction }: Onward,
): string => page(settings, { result: 'failed', kind, request, provider, next, interaction });
