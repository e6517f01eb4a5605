import { AGENT_QUEUE } from '../contract/agents';
import { type Problem, problemIf } from '../shared/problem';
import type { Dimension } from './settings';

/** Maximum number of dimensions. Their values form the message group id, which is limited to 128 characters. */
const MOST_DIMENSIONS = 5;

const SETTING = 'agents.dimensions';

/** Returns the problems with the dimensions, or an empty list if they are valid. */
export function dimensionProblems(dimensions: readonly Dimension[]): Problem[] {
  if (dimensions.length < 1 || dimensions.length > MOST_DIMENSIONS) {
    return [
      {
        setting: SETTING,
        rule: `${dimensions.length} dimensions are not 1 to ${MOST_DIMENSIONS}`,
        remedy: `give 1 to ${MOST_DIMENSIONS}`,
      },
    ];
  }
  return [
    ...dimensions.flatMap(nameProblems),
    ...repetitionProblems('name', dimensions),
    ...repetitionProblems('attribute', dimensions),
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
  return [
    ...problems,
    ...problemIf(
      reserved.includes(dimension.attribute),
      `${SETTING}[${index}].attribute`,
      `the table itself uses the attribute ${dimension.attribute}`,
      `choose a name other than ${reserved.join(', ')}`,
    ),
  ];
}

function repetitionProblems(part: 'name' | 'attribute', dimensions: readonly Dimension[]): Problem[] {
  const values = dimensions.map((dimension) => dimension[part]);
  const repeated = new Set(values.filter((value, index) => values.indexOf(value) !== index));
  return [...repeated].map((value) => ({
    setting: SETTING,
    rule: `two dimensions have the ${part} ${value}`,
    remedy: `give each dimension a different ${part}`,
  }));
}
