// Chooses one searchable attribute and the value by which the list of users is filtered.
// It must not filter: the service does, and says if a text is no value.
import { Button, NativeSelect } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { AttributeField } from '../../components/attributes/AttributeField.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { useUserAttributes } from '../../data/attributes/attributes.ts';
import { later } from '../../text.ts';
import { conditionIn } from './search.ts';

type Props = { condition: string | undefined; onApply: (condition: string) => void };

export function AttributeFilter({ condition, onApply }: Props): ReactElement {
  const texts = later.userAttributes.filter;
  const { attributes, isRead, read } = useUserAttributes();
  const [chosen, setChosen] = useState(conditionIn(condition ?? '='));
  const searchable = attributes.filter((one) => one.searchable);
  const attribute = searchable.find(({ name }) => name === chosen.name) ?? searchable[0];
  if (!attribute)
    return (
      <>
        <ReadErrors of={[read]} />
        {!isRead && !read.error && <LoadingLines />}
        {isRead && <p className="muted">{texts.none}</p>}
      </>
    );
  return (
    <form
      className="attribute-filter"
      onSubmit={(event) => {
        event.preventDefault();
        const value = chosen.value.trim();
        if (value !== '') onApply(`${attribute.name}=${value}`);
      }}
    >
      <NativeSelect
        label={texts.attribute}
        value={attribute.name}
        onChange={(event) => setChosen({ name: event.currentTarget.value, value: '' })}
        data={searchable.map(({ name, label }) => ({ value: name, label }))}
        data-raw
      />
      <AttributeField
        attribute={{ ...attribute, label: texts.value, description: '' }}
        text={chosen.value}
        onChange={(value) => setChosen({ name: attribute.name, value })}
        error={null}
      />
      <Button type="submit" disabled={chosen.value.trim() === ''}>
        {texts.apply}
      </Button>
    </form>
  );
}
