// Asks the provider for its metadata and keys now, and says what of it is as it must be.
import type { IdentityProvider } from '@castellan/sdk';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { IconCircleCheck, IconCircleX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { testProvider } from '../../../data/identities/providers.ts';
import { later, t } from '../../../text.ts';

type Props = { provider: IdentityProvider; onClose: () => void };

export function TestDialog({ provider: { id, name }, onClose }: Props): ReactElement {
  const texts = later.identityProviders.test;
  const query = useQuery({
    queryKey: ['POST /api/v1/identity-providers/{provider_id}/test', id],
    queryFn: () => testProvider(id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const result = query.isFetching ? undefined : query.data;
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title(name)}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack gap="sm">
        <ReadErrors of={[query]} />
        {query.isFetching && <LoadingLines />}
        {result && (
          <>
            <p role="status">
              <strong>{result.ok ? texts.good : texts.bad}</strong>
            </p>
            <ul className="checks">
              {result.checks.map(({ name: check, ok, text }) => (
                <li key={check} data-ok={ok}>
                  {ok ? <IconCircleCheck size={18} aria-hidden /> : <IconCircleX size={18} aria-hidden />}
                  <span>
                    <span className="visually-hidden">{ok ? texts.passed : texts.failed}: </span>
                    <span data-raw>{text}</span>
                  </span>
                </li>
              ))}
            </ul>
            {result.issuer !== null && (
              <p className="muted">
                {texts.issuer}: <span className="mono">{result.issuer}</span>
              </p>
            )}
          </>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t.common.actions.close}
          </Button>
          <Button loading={query.isFetching} onClick={() => void query.refetch()}>
            {t.common.actions.retry}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
