// Lets signed-in people in, sends others to the sign-in page, and keeps the page when a session ends elsewhere.
import type { User } from '@castellan/sdk';
import { useAccount } from '@castellan/sdk/react';
import {
  lazy,
  type ReactElement,
  type ReactNode,
  Suspense,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { addressOf } from '../../common/page-settings.ts';
import { ErrorAlert } from '../components/page/states.tsx';
import { acting, actingEnd } from '../data/acting/acting.ts';
import { queryClient, readAgain } from '../data/api.ts';
import { auth } from '../data/auth.ts';
import { rememberUserList } from '../data/early-reads.ts';
import { type Me, MeProvider } from '../data/me.tsx';
import { factorRequirement, requirementOf } from '../data/requirement.ts';
import { stepUp } from '../data/second-factors/step-up.ts';
import { sessionLoss } from '../data/session-loss.ts';
import { addressAfterSignOut } from '../data/sign-out.ts';
import { withLaterTexts } from '../text.ts';

const Relogin = lazy(() =>
  import('./relogin/Relogin.tsx').then(({ Relogin: Loaded }) => ({ default: Loaded })),
);

const StepUpDialog = lazy(() =>
  withLaterTexts(import('./step-up/StepUpDialog.tsx')).then((file) => ({ default: file.StepUpDialog })),
);

const ActingOver = lazy(() =>
  withLaterTexts(import('./acting/ActingOver.tsx')).then((file) => ({ default: file.ActingOver })),
);

const here = (): string => location.pathname + location.search;

/** Leads to the sign-in page, which leads back here. */
const leave = (): void => location.replace(`${addressOf('/login')}?next=${encodeURIComponent(here())}`);

/** The next person does not learn from the address where the last one was. */
const leaveForGood = (): void => void addressAfterSignOut().then((address) => location.replace(address));

export function Gate({ children }: { children: ReactNode }): ReactElement | null {
  const { user, permissions, status, error, reload } = useAccount();
  const isLost = useSyncExternalStore(sessionLoss.subscribe, sessionLoss.isLost);
  const missingFactor = useSyncExternalStore(factorRequirement.subscribe, factorRequirement.current);
  const asked = useSyncExternalStore(stepUp.subscribe, stepUp.current);
  const whyOver = useSyncExternalStore(actingEnd.subscribe, actingEnd.current);
  const [last, setLast] = useState<{ user: User; permissions: ReadonlySet<string> } | null>(null);
  const shown = useRef<string | null>(null);
  const [goOn, setGoOn] = useState<(() => void) | null>(null);

  useEffect(
    () =>
      auth.subscribe(({ type, subject }) => {
        // The end of acting takes the place of the page.
        if (acting) return;
        // Another person's data must never show, not even for a moment.
        const isOther = shown.current !== null && subject !== null && subject !== shown.current;
        if (type === 'subject_changed' || isOther) {
          queryClient.clear();
          setGoOn(() => () => location.reload());
        } else if (type === 'session_ended' && shown.current) sessionLoss.begin();
        else if (type === 'authenticated' && sessionLoss.isLost()) {
          sessionLoss.end();
          void readAgain();
        } else if (type === 'signed_out') setGoOn(() => leaveForGood);
        else if (type === 'anonymous') leave();
      }),
    [],
  );
  // By now nothing of the person is on the page, and no form asks whether to stay.
  useEffect(() => goOn?.(), [goOn]);
  useEffect(() => {
    if (!user) return;
    shown.current = user.id;
    setLast({ user, permissions });
  }, [user, permissions]);
  useEffect(() => {
    if (status === 'ready' && !user && !shown.current && !acting && auth.state === 'anonymous') leave();
  }, [status, user]);

  const shownUser = user ?? last?.user ?? null;
  const held = user ? permissions : last?.permissions;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `requirementOf` reads the missing factor
  const me = useMemo<Me | null>(
    () =>
      shownUser && {
        user: shownUser,
        can: (permission) => !requirementOf(shownUser) && (held?.has(permission.toLowerCase()) ?? false),
        reload,
      },
    [shownUser, held, reload, missingFactor],
  );
  useEffect(() => {
    if (me) rememberUserList(me.can);
  }, [me]);
  if (acting && whyOver)
    return (
      <Suspense>
        <ActingOver name={acting.name} why={whyOver} />
      </Suspense>
    );
  if (goOn) return null;
  if (!me)
    return status === 'failed' ? (
      <div className="gate-error">
        <ErrorAlert error={error} onRetry={() => void reload()} />
      </div>
    ) : null;
  return (
    <MeProvider me={me}>
      {children}
      {isLost && (
        <Suspense>
          <Relogin email={me.user.email} />
        </Suspense>
      )}
      <Suspense>{asked && <StepUpDialog ask={asked} />}</Suspense>
    </MeProvider>
  );
}
