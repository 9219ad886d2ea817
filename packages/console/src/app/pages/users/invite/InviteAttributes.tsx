// Asks for required attributes of people who are invited together.

import type { UserAttribute } from '@castellan/sdk';
import { Textarea } from '@mantine/core';
import type { ReactElement } from 'react';
import { AttributeFields } from '../../../components/attributes/AttributeFields.tsx';
import { attributePath, type NewAttributesState } from '../../../components/attributes/new-attributes.ts';
import { ReadErrors } from '../../../components/page/states.tsx';
import { later } from '../../../text.ts';
import { isPerPerson, linesOf } from './row-values.ts';

type Props = { state: NewAttributesState; attributes: readonly UserAttribute[]; people: number };

export function InviteAttributes({ state, attributes, people }: Props): ReactElement {
  const texts = later.userAttributes;
  const apart = attributes.filter((one) => isPerPerson(one, people));
  const common = attributes.filter((one) => !isPerPerson(one, people));
  return (
    <>
      <ReadErrors of={[state.read]} />
      {attributes.length > 0 && (
        <fieldset className="plain-fieldset">
          <legend>{texts.title}</legend>
          {people > 1 && common.length > 0 && <p className="muted">{texts.forAll}</p>}
          <AttributeFields
            attributes={common}
            texts={state.texts}
            onChange={state.setTexts}
            error={null}
            at={attributePath}
            problems={state.problems}
          />
          {apart.map(({ name, label }) => {
            const count = linesOf(state.texts[name]).length;
            return (
              <Textarea
                key={name}
                label={label}
                description={texts.onePerLine}
                required
                autosize
                minRows={2}
                maxRows={10}
                spellCheck={false}
                data-raw
                value={state.texts[name] ?? ''}
                error={count === 0 || count === people ? null : texts.wrongCount(count, people)}
                onChange={(event) => state.setTexts({ ...state.texts, [name]: event.currentTarget.value })}
              />
            );
          })}
        </fieldset>
      )}
    </>
  );
}
