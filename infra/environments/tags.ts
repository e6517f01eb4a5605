import type { Problem } from '../lambda/problem';
import type { Environment } from './list';

/** Most tags of a stack (CloudFormation). */
const MOST_TAGS = 50;

/** What everything must be found by, and paid for by. */
export const REQUIRED_TAGS = ['project', 'environment', 'owner', 'cost-center'] as const;

/** Letters, numbers, spaces and these signs (https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html). */
const TAG_TEXT = /^[\p{L}\p{N}\p{Z}_.:/=+\-@]*$/u;

/** What cannot work about an environment's tags. */
export function tagProblems({ name, tags }: Pick<Environment, 'name' | 'tags'>): Problem[] {
  const entries = Object.entries(tags);
  const problems = entries.filter(([key, value]) => isRefused(key, value)).map(([key]) => refusal(key));
  if (entries.length > MOST_TAGS) {
    problems.push({
      setting: 'tags',
      rule: `${entries.length} tags are more than the ${MOST_TAGS} AWS accepts`,
      remedy: 'leave some out',
    });
  }
  for (const key of REQUIRED_TAGS.filter((required) => !tags[required])) {
    problems.push({
      setting: `tags.${key}`,
      rule: 'is missing; cost reports and cleanups use it',
      remedy: `give it, as the other environments do`,
    });
  }
  if (tags.environment && tags.environment !== name) {
    problems.push({
      setting: 'tags.environment',
      rule: `"${tags.environment}" is not the environment's name, ${name}`,
      remedy: `set it to ${name}`,
    });
  }
  return problems;
}

function isRefused(key: string, value: string): boolean {
  const fits = key !== '' && key.length <= 128 && value.length <= 256 && !/^aws:/i.test(key);
  return !fits || !TAG_TEXT.test(key) || !TAG_TEXT.test(value);
}

function refusal(key: string): Problem {
  return {
    setting: 'tags',
    rule: `AWS does not accept the tag "${key}"`,
    remedy:
      'use keys of 1 to 128 characters that do not begin with aws:, values of at most 256, and in both only letters, numbers, spaces and _.:/=+-@',
  };
}
