import { AGENT_QUEUE } from '../contract/agents';
import type { Problem } from '../lambda/problem';
import type { Dimension } from './settings';

/** One multi-valued dimension and four single-valued ones. */
const MOST_DIMENSIONS = 5;

const SETTING = 'agents.dimensions';

/** What cannot work about the dimensions that calls may ask for. */
export function dimensionProblems(dimensions: readonly Dimension[]): Problem[] {
  if (dimensions.length < 1 || dimensions.length > MOST_DIMENSIONS) {
    return [
      {
        setting: SETTING,
        rule: `${dimensions.length} dimensions are not 1 to ${MOST_DIMENSIONS}`,
        remedy: `give the multi-valued one, then up to ${MOST_DIMENSIONS - 1} single-valued ones`,
      },
    ];
  }
  return [
    ...dimensions.flatMap(valueProblems),
    ...dimensions.flatMap(nameProblems),
    ...repetitionProblems('name', dimensions),
    ...repetitionProblems('attribute', dimensions),
  ];
}

function valueProblems({ name, multiValued = false }: Dimension, index: number): Problem[] {
  if (multiValued === (index === 0)) return [];
  if (index === 0) {
    return [
      {
        setting: `${SETTING}[0].multiValued`,
        rule: `${name} is the first dimension, and the first is the one that agents have several values of`,
        remedy:
          'set multiValued: true (agents may still have one value each), or put the multi-valued one first',
      },
    ];
  }
  return [
    {
      setting: `${SETTING}[${index}].multiValued`,
      rule: `${name} would be a second multi-valued dimension, and an agent would wait in a queue for each pair of values`,
      remedy: 'leave multiValued out everywhere but in the first dimension',
    },
  ];
}

function nameProblems(dimension: Dimension, index: number): Problem[] {
  const parts = ['name', 'attribute'] as const;
  const problems = parts
    .filter((part) => !/^[A-Za-z0-9]{1,64}$/.test(dimension[part]))
    .map((part) => ({
      setting: `${SETTING}[${index}].${part}`,
      rule: `"${dimension[part]}" is not 1 to 64 letters and digits`,
      remedy: `choose a short ${part}, for example ${part === 'name' ? 'language' : 'Languages'}`,
    }));
  const reserved: readonly string[] = AGENT_QUEUE.reservedAttributes;
  if (reserved.includes(dimension.attribute)) {
    problems.push({
      setting: `${SETTING}[${index}].attribute`,
      rule: `${dimension.attribute} is an attribute of the table's own`,
      remedy: `choose another than ${reserved.join(', ')}`,
    });
  }
  return problems;
}

function repetitionProblems(part: 'name' | 'attribute', dimensions: readonly Dimension[]): Problem[] {
  const values = dimensions.map((dimension) => dimension[part]);
  const repeated = new Set(values.filter((value, index) => values.indexOf(value) !== index));
  return [...repeated].map((value) => ({
    setting: SETTING,
    rule: `two dimensions have the ${part} ${value}`,
    remedy: `give each dimension a ${part} of its own`,
  }));
}
