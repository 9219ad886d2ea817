// One's own values of the attributes that people may see. Without such an attribute, there is nothing to show.
import type { OwnAttribute } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { shownText } from '../../components/attributes/AttributeField.tsx';
import { ValuesForm } from '../../components/attributes/ValuesForm.tsx';
import type { Values } from '../../components/attributes/values.ts';
import { ReadErrors } from '../../components/page/states.tsx';
import { callVersioned, queryClient, readingVersioned } from '../../data/api.ts';
import { useCan } from '../../data/me.tsx';
import { later } from '../../text.ts';

const reading = readingVersioned('GET /api/v1/users/me/attributes', { query: { include: 'definitions' } });

export function MyAttributes({ titleId }: { titleId: string }): ReactElement | null {
  const mayChange = useCan('self.update_profile');
  const query = useQuery(reading);
  const definitions = query.data?.result.definitions ?? [];
  const isEditable = ({ self }: OwnAttribute): boolean => mayChange && self === 'write';
  const editable = definitions.filter(isEditable);
  if (definitions.length === 0 && !query.error) return null;
  return (
    <section className="panel" aria-labelledby={titleId}>
      <h2 className="section-title" id={titleId}>
        {later.userAttributes.title}
      </h2>
      <ReadErrors of={[query]} />
      {query.data && (
        <Facts attributes={definitions.filter((one) => !isEditable(one))} values={query.data.result.data} />
      )}
      {query.data && editable.length > 0 && (
        <ValuesForm
          attributes={editable}
          stored={{ values: query.data.result.data, etag: query.data.etag }}
          isReadOnly={() => false}
          save={async (patch, etag) => {
            const { result, etag: now } = await callVersioned('PATCH /api/v1/users/me/attributes', {
              body: patch,
              ...(etag === null ? {} : { headers: { 'if-match': etag } }),
            });
            const saved = { result: { ...result, definitions }, etag: now };
            queryClient.setQueryData(reading.queryKey, saved);
            return saved;
          }}
        />
      )}
    </section>
  );
}

type FactsProps = { attributes: readonly OwnAttribute[]; values: Values };

/** What the person sees and only administrators change. */
function Facts({ attributes, values }: FactsProps): ReactElement | null {
  if (attributes.length === 0) return null;
  return (
    <dl className="account-facts">
      {attributes.map((one) => (
        <div key={one.name}>
          <dt data-raw>{one.label}</dt>
          <dd data-raw className={one.type === 'json' ? 'mono' : ''}>
            {shownText(one, values[one.name]) || '–'}
          </dd>
        </div>
      ))}
    </dl>
  );
}
