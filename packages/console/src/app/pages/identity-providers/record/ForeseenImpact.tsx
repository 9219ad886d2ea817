// What a change of a provider would do to people, asked of the service before it is made.
import type { UpdateIdentityProvider } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { type Foreseen, foresee } from '../../../data/identities/providers.ts';
import { later } from '../../../text.ts';
import { Warning } from '../form/ProviderFields.tsx';

/** `body`: null for the deletion. */
export function useForeseen(id: string, body: UpdateIdentityProvider | null) {
  return useQuery({
    queryKey: ['preview', 'identity provider', id, body],
    queryFn: ({ signal }) => foresee(id, body, signal),
    staleTime: 0,
    gcTime: 0,
  });
}

type Props = { id: string; body: UpdateIdentityProvider | null };

export function ForeseenImpact({ id, body }: Props): ReactElement {
  const query = useForeseen(id, body);
  return <ImpactText query={query} />;
}

type Query = { data: Foreseen | undefined; error: unknown; refetch: () => unknown; isLoading: boolean };

export function ImpactText({ query }: { query: Query }): ReactElement {
  const texts = later.identityProviders.impact;
  const { impact, refusal } = query.data ?? {};
  return (
    <div aria-live="polite" className="foreseen">
      <ReadErrors of={[query]} />
      {query.isLoading && <LoadingLines />}
      {refusal && <p role="alert">{refusal}</p>}
      {impact && (
        <>
          <p>
            {impact.identities === 0 ? texts.nobody : texts.identities(impact.identities)}{' '}
            {impact.sessions > 0 && texts.sessions(impact.sessions)}
          </p>
          {impact.left_without > 0 && <Warning>{texts.leftWithout(impact.left_without)}</Warning>}
        </>
      )}
    </div>
  );
}
