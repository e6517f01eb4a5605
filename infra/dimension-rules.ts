import { AGENT_QUEUE } from './agent-contract';
import type { Dimension } from './agent-settings';
import type { Problem } from './problem';

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

function nameProblems({ name, attribute }: Dimension, index: number): Problem[] {
  const problems: Problem[] = [];
  if (!/^[A-Za-z][A-Za-z0-9_]{0,31}$/.test(name)) {
    problems.push({
      setting: `${SETTING}[${index}].name`,
      rule: `"${name}" is not a letter followed by at most 31 letters, digits and underscores`,
      remedy: 'choose a short name, for example language',
    });
  }
  const reserved: readonly string[] = AGENT_QUEUE.reservedAttributes;
  if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(attribute)) {
    problems.push({
      setting: `${SETTING}[${index}].attribute`,
      rule: `"${attribute}" is not a letter followed by at most 63 letters, digits and underscores`,
      remedy: 'choose the name of an attribute, for example Languages',
    });
  } else if (reserved.includes(attribute)) {
    problems.push({
      setting: `${SETTING}[${index}].attribute`,
      rule: `${attribute} is an attribute that every agent's item has for something else`,
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
