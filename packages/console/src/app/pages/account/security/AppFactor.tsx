// The authenticator app: set up, replace, remove.
import type { Factors, TotpEnrolment } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { Uses } from '../../../components/second-factors/facts.tsx';
import { Tag } from '../../../components/text/badges.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { hasFactor, removeApp } from '../../../data/second-factors/own-factors.ts';
import { later, t } from '../../../text.ts';
import { AppSetUp } from './AppSetUp.tsx';
import { Factor } from './Factor.tsx';
import type { ShowCodes } from './show-codes.ts';

type Props = { factors: Factors; onCodes: ShowCodes };

export function AppFactor({ factors, onCodes }: Props): ReactElement | null {
  const texts = later.secondFactors.app;
  const { totp, available } = factors;
  const [enrolment, setEnrolment] = useState<TotpEnrolment | null>(null);
  const [isRemoving, setRemoving] = useState(false);
  const begin = useWrite(
    () => call('POST /api/v1/auth/factors/totp', {}),
    ({ data }) => setEnrolment(data),
  );
  const remove = useWrite(removeApp, () => {
    setRemoving(false);
    notifyDone(texts.removed);
  });
  if (!totp && !available.totp) return null;
  return (
    <Factor
      title={texts.title}
      actions={
        <>
          {available.totp && (
            <Button
              size="xs"
              variant="default"
              loading={begin.isPending && enrolment === null}
              onClick={() => begin.run(undefined)}
              aria-label={totp ? texts.replaceTitle : texts.setUpTitle}
            >
              {totp ? texts.replace : texts.setUp}
            </Button>
          )}
          {totp && (
            <Button size="xs" variant="default" onClick={() => setRemoving(true)} aria-label={texts.remove}>
              {t.common.actions.remove}
            </Button>
          )}
        </>
      }
    >
      {totp ? (
        <Uses added={totp.created_at} used={totp.last_used_at} />
      ) : (
        <p className="muted">{texts.off}</p>
      )}
      {totp?.suspended && (
        <p>
          <Tag tone="warn">{texts.suspended}</Tag> {texts.suspendedText}
        </p>
      )}
      {Boolean(begin.error) && !enrolment && <ErrorAlert error={begin.error} />}
      {enrolment && (
        <AppSetUp
          key={enrolment.secret}
          enrolment={enrolment}
          isFirst={!hasFactor(factors)}
          isReplacing={totp !== null}
          again={{ ...begin, run: () => begin.run(undefined) }}
          onCodes={onCodes}
          onClose={() => setEnrolment(null)}
        />
      )}
      {isRemoving && (
        <ConfirmDialog
          title={texts.removeTitle}
          confirmLabel={texts.remove}
          isDangerous
          isPending={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.run(undefined)}
          onClose={() => setRemoving(false)}
        >
          <RemovalText isLast={factors.passkeys.length === 0} />
        </ConfirmDialog>
      )}
    </Factor>
  );
}

/** What follows a removal. */
export const RemovalText = ({ isLast }: { isLast: boolean }): ReactElement => (
  <>
    <p>{isLast ? later.secondFactors.removal.last : later.secondFactors.removal.other}</p>
    <p>{later.secondFactors.endsOthers}</p>
  </>
);
