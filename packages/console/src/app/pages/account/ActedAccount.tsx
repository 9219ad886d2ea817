// The account of somebody as whom the person acts: who they are and what they may do. Everything else on this page is theirs alone.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { EffectivePermissionList } from '../../components/permissions/EffectivePermissionList.tsx';
import { RoleChips } from '../../components/text/badges.tsx';
import { nameOf, useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';

export function ActedAccount(): ReactElement {
  const { user } = useMe();
  const texts = later.acting.account;
  return (
    <>
      <PageHeader title={texts.title(nameOf(user))} />
      <div className="account">
        <div className="account-column">
          <section className="panel" aria-labelledby="profile">
            <h2 className="section-title" id="profile">
              {t.account.profile.title}
            </h2>
            <dl className="account-facts">
              <div>
                <dt>{t.account.profile.email}</dt>
                <dd data-raw>{user.email}</dd>
              </div>
              <div>
                <dt>{t.account.profile.roles}</dt>
                <dd>
                  {user.roles.length === 0 ? t.account.profile.noRoles : <RoleChips roles={user.roles} />}
                </dd>
              </div>
            </dl>
            <p className="muted">{texts.text}</p>
          </section>
        </div>
        <div className="account-column">
          <section className="panel" aria-labelledby="access">
            <h2 className="section-title" id="access">
              {texts.access}
            </h2>
            <EffectivePermissionList subject={{ type: 'me', id: user.id }} />
          </section>
        </div>
      </div>
    </>
  );
}
