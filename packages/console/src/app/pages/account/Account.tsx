// The signed-in person's own account: names, password, sessions, applications, access. Everybody may open it.
import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { notifyFailure } from '../../components/page/notify.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { EffectivePermissionList } from '../../components/permissions/EffectivePermissionList.tsx';
import { acting } from '../../data/acting/acting.ts';
import { useWrite } from '../../data/api.ts';
import { auth } from '../../data/auth.ts';
import { ownIdentities } from '../../data/identities/own-identities.ts';
import { useMe } from '../../data/me.tsx';
import { requirementOf } from '../../data/requirement.ts';
import { signOut } from '../../data/sign-out.ts';
import { t, withLaterTexts } from '../../text.ts';
import './account.css';
import { MySessions } from './MySessions.tsx';
import { Password } from './Password.tsx';
import { Profile } from './Profile.tsx';

const Security = lazy(() =>
  withLaterTexts(import('./security/Security.tsx')).then((file) => ({ default: file.Security })),
);
const SetUpRequired = lazy(() =>
  withLaterTexts(import('./security/SetUpRequired.tsx')).then((file) => ({ default: file.SetUpRequired })),
);
const MyAttributes = lazy(() =>
  withLaterTexts(import('./MyAttributes.tsx')).then((file) => ({ default: file.MyAttributes })),
);
const MyApplications = lazy(() =>
  withLaterTexts(import('./MyApplications.tsx')).then((file) => ({ default: file.MyApplications })),
);
const MyIdentities = lazy(() =>
  withLaterTexts(import('./MyIdentities.tsx')).then((file) => ({ default: file.MyIdentities })),
);
const MyTokens = lazy(() =>
  withLaterTexts(import('./MyTokens.tsx')).then((file) => ({ default: file.MyTokens })),
);
const MyData = lazy(() => withLaterTexts(import('./MyData.tsx')).then((file) => ({ default: file.MyData })));
const ActedAccount = lazy(() =>
  withLaterTexts(import('./ActedAccount.tsx')).then((file) => ({ default: file.ActedAccount })),
);
const NoPassword = lazy(() =>
  withLaterTexts(import('./NoPassword.tsx')).then((file) => ({ default: file.NoPassword })),
);
const CodesDialog = lazy(() =>
  withLaterTexts(import('./security/CodesDialog.tsx')).then((file) => ({ default: file.CodesDialog })),
);

/** Shows new recovery codes, also while what made them necessary leaves the page. */
export function Account(): ReactElement {
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  return (
    <>
      <Parts onCodes={setCodes} />
      <Suspense>{codes && <CodesDialog codes={codes} onClose={() => setCodes(null)} />}</Suspense>
    </>
  );
}

function Parts({ onCodes }: { onCodes: (codes: readonly string[]) => void }): ReactElement {
  const { user } = useMe();
  const texts = t.account;
  if (acting)
    return (
      <Suspense fallback={<LoadingLines />}>
        <ActedAccount />
      </Suspense>
    );
  if (requirementOf(user) === 'password_change')
    return (
      <>
        {/* With the password, the page changes, too: another heading takes the focus. */}
        <PageHeader key="must-change" title={texts.title} actions={<SignOut />} />
        <section className="panel must-change" aria-labelledby="must-change">
          <h2 className="section-title" id="must-change">
            {texts.mustChange.title}
          </h2>
          <p>{texts.mustChange.text}</p>
          <Password />
        </section>
      </>
    );
  if (requirementOf(user) === 'second_factor')
    return (
      <>
        <PageHeader key="must-set-up" title={texts.title} actions={<SignOut />} />
        <Suspense>
          <SetUpRequired onCodes={onCodes} />
        </Suspense>
      </>
    );
  return (
    <>
      <PageHeader title={texts.title} actions={<SignOut />} />
      <div className="account">
        <div className="account-column">
          <section className="panel" aria-labelledby="profile">
            <h2 className="section-title" id="profile">
              {texts.profile.title}
            </h2>
            <Profile />
          </section>
          <section className="panel" aria-labelledby="password">
            <h2 className="section-title" id="password">
              {texts.password.title}
            </h2>
            <OwnPassword />
          </section>
          <Suspense>
            <MyAttributes titleId="attributes" />
          </Suspense>
        </div>
        <div className="account-column">
          <section className="panel" id="security" aria-labelledby="security-title">
            <Suspense fallback={<LoadingLines />}>
              <Security onCodes={onCodes} />
            </Suspense>
          </section>
          <section className="panel" aria-labelledby="identities">
            <Suspense fallback={<LoadingLines />}>
              <MyIdentities titleId="identities" />
            </Suspense>
          </section>
          <section className="panel" aria-labelledby="sessions">
            <MySessions titleId="sessions" />
          </section>
          <section className="panel" aria-labelledby="tokens">
            <Suspense fallback={<LoadingLines />}>
              <MyTokens titleId="tokens" />
            </Suspense>
          </section>
          <section className="panel" aria-labelledby="applications">
            <Suspense fallback={<LoadingLines />}>
              <MyApplications titleId="applications" />
            </Suspense>
          </section>
          <section className="panel" aria-labelledby="access">
            <h2 className="section-title" id="access">
              {texts.access.title}
            </h2>
            <p className="muted">{texts.access.text}</p>
            <EffectivePermissionList subject={{ type: 'me', id: user.id }} />
          </section>
          <section className="panel" aria-labelledby="own-data">
            <Suspense fallback={<LoadingLines />}>
              <MyData titleId="own-data" />
            </Suspense>
          </section>
        </div>
      </div>
    </>
  );
}

/** Accounts that a provider made have no password. */
function OwnPassword(): ReactElement {
  const query = useQuery(ownIdentities);
  if (!query.data && !query.error) return <LoadingLines />;
  if (query.data?.data.has_password === false)
    return (
      <Suspense>
        <NoPassword />
      </Suspense>
    );
  return <Password />;
}

function SignOut(): ReactElement {
  const [isAsking, setAsking] = useState(false);
  const everywhere = useWrite(() => auth.signOutEverywhere());
  return (
    <Group gap="xs">
      <Button variant="default" onClick={() => signOut().catch(notifyFailure)}>
        {t.account.signOut}
      </Button>
      <Button variant="default" onClick={() => setAsking(true)}>
        {t.account.signOutEverywhere}
      </Button>
      {isAsking && (
        <ConfirmDialog
          title={t.account.signOutEverywhere}
          confirmLabel={t.account.signOutEverywhere}
          isDangerous
          isPending={everywhere.isPending}
          error={everywhere.error}
          onConfirm={() => everywhere.run(undefined)}
          onClose={() => setAsking(false)}
        >
          <p>{t.account.signOutEverywhereText}</p>
        </ConfirmDialog>
      )}
    </Group>
  );
}
