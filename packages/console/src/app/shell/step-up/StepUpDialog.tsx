// Asks over the page for a fresh proof of who the person is, and then lets the requests that wait go on.
// It must not change the page: Cancel leaves it as it was.
import type { StepUp } from '@castellan/sdk';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { addressOf } from '../../../common/page-settings.ts';
import { ReadErrors } from '../../components/page/states.tsx';
import { call, renew } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { type StepUpAsk, stepUp } from '../../data/second-factors/step-up.ts';
import { later, t } from '../../text.ts';
import { Proofs } from '../proofs/Proofs.tsx';
import type { Proving } from '../proofs/proving.ts';
import { ByPassword } from './ByPassword.tsx';
import './step-up.css';

/** The requests that wait go on with the tokens of the proof. */
const proving: Proving<StepUp> = {
  send: (body) => renew('POST /api/v1/auth/step-up', { body }),
  onDone: stepUp.done,
  onCancel: stepUp.cancel,
};

type Purposes = typeof later.secondFactors.stepUp.purposes;

function purposeOf(operation: string): string {
  const { purposes, text } = later.secondFactors.stepUp;
  const isKnown = (name: string): name is keyof Purposes => Object.hasOwn(purposes, name);
  return isKnown(operation) ? purposes[operation] : text;
}

export function StepUpDialog({ ask }: { ask: StepUpAsk }): ReactElement {
  const texts = later.secondFactors.stepUp;
  return (
    <Modal
      opened
      onClose={stepUp.cancel}
      title={texts.title}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
      zIndex={350}
    >
      <Stack gap="sm">
        <p>{purposeOf(ask.operation)}</p>
        <Ways ask={ask} />
      </Stack>
    </Modal>
  );
}

function Ways({ ask: { acr } }: { ask: StepUpAsk }): ReactElement {
  const texts = later.secondFactors.stepUp;
  const options = useQuery({
    queryKey: ['POST /api/v1/auth/step-up/options', acr],
    queryFn: async ({ signal }) =>
      (await call('POST /api/v1/auth/step-up/options', { body: { acr }, signal })).data,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (isCode(options.error, 'no_password')) return <SignInAgain />;
  if (isCode(options.error, 'second_factor_enrolment_required'))
    return (
      <>
        <ReadErrors of={[options]} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={stepUp.cancel}>
            {t.common.actions.cancel}
          </Button>
          <Button component={Link} to="/account" onClick={stepUp.cancel}>
            {texts.setUp}
          </Button>
        </Group>
      </>
    );
  if (options.error) return <ReadErrors of={[options]} />;
  if (!options.data)
    return (
      <div className="step-up-loading" role="status" aria-busy="true" aria-label={t.common.list.loading} />
    );
  const { methods, passkey } = options.data;
  if (methods.length === 0) return <SignInAgain />;
  return (
    <Proofs
      methods={methods}
      passkey={passkey}
      proving={proving}
      onAgain={options.refetch}
      byPassword={<ByPassword proving={proving} />}
    />
  );
}

/** An account without a password and a factor proves who it is where it signs in. The page opens again after it. */
function SignInAgain(): ReactElement {
  const texts = later.identities.signInAgain;
  const here = `${location.pathname}${location.search}${location.hash}`;
  return (
    <>
      <p>{texts.text}</p>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={stepUp.cancel}>
          {t.common.actions.cancel}
        </Button>
        <Button component="a" href={`${addressOf('/login')}?next=${encodeURIComponent(here)}`} data-autofocus>
          {texts.button}
        </Button>
      </Group>
    </>
  );
}
