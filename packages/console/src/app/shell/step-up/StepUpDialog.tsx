// Asks over the page for a fresh proof of who the person is, and then lets the requests that wait go on.
// It must not change the page: Cancel leaves it as it was.
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { ReadErrors } from '../../components/page/states.tsx';
import { call } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { type StepUpAsk, stepUp } from '../../data/second-factors/step-up.ts';
import { later, t } from '../../text.ts';
import { ByCode } from './ByCode.tsx';
import { ByPasskey } from './ByPasskey.tsx';
import { ByPassword } from './ByPassword.tsx';
import './step-up.css';

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
  const [chosen, setChosen] = useState<string | null>(null);
  const options = useQuery({
    queryKey: ['POST /api/v1/auth/step-up/options', acr],
    queryFn: async ({ signal }) =>
      (await call('POST /api/v1/auth/step-up/options', { body: { acr }, signal })).data,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
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
  const way = methods.find((method) => method === chosen) ?? methods[0];
  const others = methods.filter((method) => method !== way);
  return (
    <>
      {way === 'password' && <ByPassword />}
      {(way === 'totp' || way === 'recovery_code') && <ByCode key={way} kind={way} />}
      {way === 'passkey' && passkey && <ByPasskey options={passkey} onAgain={options.refetch} />}
      {others.length > 0 && (
        <div className="step-up-others">
          <span className="muted">{texts.other}</span>
          {others.map((method) => (
            <button key={method} type="button" className="text-button" onClick={() => setChosen(method)}>
              {texts.ways[method]}
            </button>
          ))}
        </div>
      )}
    </>
  );
}
