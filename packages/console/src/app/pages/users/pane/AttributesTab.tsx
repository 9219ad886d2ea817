// The values of all declared attributes of a user. Read only for people who may not change the user.
import type { User } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { ValuesForm } from '../../../components/attributes/ValuesForm.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { callVersioned, queryClient, readingVersioned } from '../../../data/api.ts';
import { useUserAttributes } from '../../../data/attributes/attributes.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import type { UserRules } from '../rules.ts';

type Props = { user: User; rules: UserRules };

export function AttributesTab({ user, rules }: Props): ReactElement {
  const mayReadValues = useCan('users.read');
  const mayDeclare = useCan('user_attribute.create');
  const { attributes, isRead, mayRead, read } = useUserAttributes();
  const path = { user_id: user.id };
  const reading = readingVersioned('GET /api/v1/users/{user_id}/attributes', { path });
  const query = useQuery({ ...reading, enabled: mayReadValues });
  const missing = mayRead ? 'users.read' : 'user_attribute.read';
  if (!mayRead || !mayReadValues)
    return <ForbiddenPart permission={missing} page={t.users.tabs.attributes} />;
  return (
    <section className="pane-section" aria-label={t.users.tabs.attributes}>
      <ReadErrors of={[read, query]} />
      {(!isRead || !query.data) && !read.error && !query.error && <LoadingLines />}
      {isRead && attributes.length === 0 && (
        <p className="muted">
          {later.userAttributes.nothingDeclared}{' '}
          {mayDeclare && <Link to="/user-attributes">{later.userAttributes.declare}</Link>}
        </p>
      )}
      {isRead && attributes.length > 0 && query.data && (
        <>
          {rules.edit && <p className="muted">{rules.edit}</p>}
          <ValuesForm
            attributes={attributes}
            stored={{ values: query.data.result.data, etag: query.data.etag }}
            isReadOnly={() => rules.edit !== null}
            of={['user', 'tab']}
            save={async (patch, etag) => {
              const saved = await callVersioned('PATCH /api/v1/users/{user_id}/attributes', {
                path,
                body: patch,
                ...(etag === null ? {} : { headers: { 'if-match': etag } }),
              });
              queryClient.setQueryData(reading.queryKey, saved);
              return saved;
            }}
          />
        </>
      )}
    </section>
  );
}
