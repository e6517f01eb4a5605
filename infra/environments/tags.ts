import { type Problem, problemIf } from '../shared/problem';
import type { Environment } from './list';

/** Maximum number of tags per stack, a CloudFormation limit. */
const MOST_TAGS = 50;

/** Tags that every resource must have, for searches and cost reports. */
export const REQUIRED_TAGS = ['project', 'environment', 'owner', 'cost-center'] as const;

/** Characters that AWS allows in tags (https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html). */
const TAG_TEXT = /^[\p{L}\p{N}\p{Z}_.:/=+\-@]*$/u;

/** Returns the problems with an environment's tags, or an empty list if they are valid. */
export function tagProblems({ name, tags }: Pick<Environment, 'name' | 'tags'>): Problem[] {
  const entries = Object.entries(tags);
  const problems = entries.filter(([key, value]) => isRejected(key, value)).map(([key]) => rejection(key));
  return [
    ...problems,
    ...problemIf(
      entries.length > MOST_TAGS,
      'tags',
      `${entries.length} tags are more than the ${MOST_TAGS} AWS accepts`,
      'omit some',
    ),
    ...REQUIRED_TAGS.flatMap((key) =>
      problemIf(
        !tags[key],
        `tags.${key}`,
        'the tag is missing; cost reports and cleanups use it',
        `add the tag, as in the other environments`,
      ),
    ),
    ...problemIf(
      Boolean(tags.environment) && tags.environment !== name,
      'tags.environment',
      `"${tags.environment}" is not the name of the environment, ${name}`,
      `set the tag to ${name}`,
    ),
  ];
}

function isRejected(key: string, value: string): boolean {
  const fits = key !== '' && key.length <= 128 && value.length <= 256 && !/^aws:/i.test(key);
  return !fits || !TAG_TEXT.test(key) || !TAG_TEXT.test(value);
}

function rejection(key: string): Problem {
  return {
    setting: 'tags',
    rule: `AWS does not accept the tag "${key}"`,
    remedy:
      'use keys of 1 to 128 characters that do not start with aws:, values of at most 256, and in both only letters, numbers, spaces and _.:/=+-@',
  };
}
