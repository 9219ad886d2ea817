import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

type Panel = {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string }[];
};

const { panels } = JSON.parse(
  readFileSync(new URL('../../../../deploy/grafana/castellan.json', import.meta.url), 'utf8'),
) as { panels: Panel[] };

test('panels of the dashboard share no place, no id and no title', () => {
  const places = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, `${title} is wider than the dashboard`);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.equal(places.get(`${x} ${y}`), undefined, `${title} covers another panel`);
        places.set(`${x} ${y}`, title);
      }
  }
  assert.ok(panels.length > 20);
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const titles = panels.flatMap(({ title, targets }) => (targets ? [title] : []));
  assert.equal(new Set(titles).size, titles.length);
});

test('queries of one panel have names of their own', () => {
  for (const { title, targets = [] } of panels)
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
});
