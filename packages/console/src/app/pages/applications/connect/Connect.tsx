// The page that connects an application: a recipe, its form, and what to copy into the application.
// It must not keep the secret: it is gone with the page.
import { IconArrowLeft, IconChevronRight } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { PageHeader } from '../../../components/page/PageHeader.tsx';
import { later, t } from '../../../text.ts';
import type { Recipe } from '../recipes/recipe.ts';
import { recipes } from '../recipes/recipes.ts';
import { RecipeForm } from './RecipeForm.tsx';
import '../applications.css';

const route = getRouteApi('/applications/new');

export function Connect(): ReactElement {
  const { recipe: key } = route.useSearch();
  const recipe = key === undefined ? undefined : recipes.get(key);
  return (
    <>
      <Link to={recipe ? '/applications/new' : '/applications'} className="recipe-back">
        <IconArrowLeft size={15} aria-hidden className="mirrored" />{' '}
        {recipe ? later.applications.connect.other : t.common.nav.applications}
      </Link>
      <PageHeader title={t.common.nav.newApplication} />
      {key !== undefined && !recipe && <p role="alert">{later.applications.connect.unknown}</p>}
      {recipe ? <RecipeForm key={key} recipe={recipe} /> : <Choice />}
    </>
  );
}

function Choice(): ReactElement {
  const texts = later.applications.connect;
  return (
    <section aria-labelledby="recipes">
      <h2 id="recipes" className="section-title">
        {texts.pick}
      </h2>
      <p className="muted">{texts.pickText}</p>
      <ul className="recipes">
        {[...recipes].map(([key, recipe]) => (
          <li key={key}>
            <Link to="/applications/new" search={{ recipe: key }} className="recipe">
              <span>
                <RecipeName recipe={recipe} />
                {recipe.product === null && <span className="row-note">{texts.typeText[recipe.type]}</span>}
              </span>
              <IconChevronRight size={18} aria-hidden className="mirrored" />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

const RecipeName = ({ recipe: { product, type } }: { recipe: Recipe }): ReactElement =>
  product === null ? (
    <span className="row-name">{later.applications.types[type]}</span>
  ) : (
    <span className="row-name" data-raw>
      {product}
    </span>
  );
