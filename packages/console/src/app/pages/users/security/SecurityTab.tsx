// The second factors of a user, what is required of them, and the acts that help somebody who lost theirs.
import type { User, UserFactors } from '@castellan/sdk';
import { IconLockOpen, IconShieldX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatMoment } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { call, reading, useWrite } from '../../../data/api.ts';
import { nameOf, useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import type { UserRules } from '../rules.ts';
import { FactorList } from './FactorList.tsx';
import { RequirementNote } from './RequirementNote.tsx';
import { ResetDialog } from './ResetDialog.tsx';

type Props = { user: User; rules: UserRules; onUnlock: () => void };

export function SecurityTab(props: Props): ReactElement {
  const mayRead = useCan('second_factor.read');
  const factors = useQuery({
    ...reading('GET /api/v1/users/{user_id}/factors', { path: { user_id: props.user.id } }),
    enabled: mayRead,
  });
  if (!mayRead) return <ForbiddenPart permission="second_factor.read" page={t.users.tabs.security} />;
  const data = factors.data?.data;
  return (
    <>
      <ReadErrors of={[factors]} />
      {!data && !factors.error && <LoadingLines />}
      {data && <Factors {...props} factors={data} />}
      {data && <Devices {...props} trusted={data.trusted_devices} />}
    </>
  );
}

type FactorsProps = Props & { factors: UserFactors };

function Factors({ user, rules, onUnlock, factors }: FactorsProps): ReactElement {
  const texts = later.userSecurity;
  const [isResetting, setResetting] = useState(false);
  const { totp, passkeys, recovery_codes: codes, requirement, failures, recovery_pending } = factors;
  const hasFactor = totp !== null || passkeys.length > 0;
  const isMissing = requirement?.met === false;
  const icon = { size: 16, 'aria-hidden': true };
  return (
    <section className="pane-section" aria-labelledby="user-factors">
      <div className="section-head">
        <h3 id="user-factors" className="section-title">
          {texts.factors}
        </h3>
        {(hasFactor || recovery_pending) && (
          <ActionButton
            reason={rules.resetFactors}
            icon={<IconShieldX {...icon} />}
            isDangerous={hasFactor}
            onClick={() => setResetting(true)}
          >
            {hasFactor ? texts.reset.act : texts.reset.again}
          </ActionButton>
        )}
      </div>
      {requirement && <RequirementNote requirement={requirement} />}
      {recovery_pending && <p className="note note-accent">{texts.pending}</p>}
      {!hasFactor && !recovery_pending && !isMissing && <p className="muted">{texts.none}</p>}
      {hasFactor && <FactorList totp={totp} passkeys={passkeys} codes={codes} />}
      {failures.locked_until !== null && (
        <>
          <p className="note note-warn">{texts.closed(formatMoment(failures.locked_until))}</p>
          <div>
            <ActionButton reason={rules.edit} icon={<IconLockOpen {...icon} />} onClick={onUnlock}>
              {t.users.acts.unlock}
            </ActionButton>
          </div>
        </>
      )}
      {isResetting && <ResetDialog user={user} factors={factors} onClose={() => setResetting(false)} />}
    </section>
  );
}

type DevicesProps = Pick<Props, 'user' | 'rules'> & { trusted: number };

function Devices({ user, rules, trusted }: DevicesProps): ReactElement {
  const texts = later.userSecurity.devices;
  const [isAsking, setAsking] = useState(false);
  const forget = useWrite(
    () => call('DELETE /api/v1/users/{user_id}/devices', { path: { user_id: user.id } }),
    () => {
      setAsking(false);
      notifyDone(texts.done(nameOf(user)));
    },
  );
  return (
    <section className="pane-section" aria-labelledby="user-devices">
      <div className="section-head">
        <h3 id="user-devices" className="section-title">
          {texts.title}
        </h3>
        <ActionButton reason={rules.edit} onClick={() => setAsking(true)}>
          {texts.forget}
        </ActionButton>
      </div>
      <p className="muted">{trusted === 0 ? texts.none : texts.trusted(trusted)}</p>
      {isAsking && (
        <ConfirmDialog
          title={texts.ask(nameOf(user))}
          confirmLabel={texts.forget}
          isDangerous
          isPending={forget.isPending}
          error={forget.error}
          onConfirm={() => forget.run(undefined)}
          onClose={() => setAsking(false)}
        >
          <p>{texts.text}</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
