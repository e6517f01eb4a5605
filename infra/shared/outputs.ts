import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Stack outputs: value and description, by name. */
export type Outputs<Name extends string> = Record<Name, readonly [value: string, description: string]>;

/**
 * Adds a queue's outputs to its stack, or to the stack around nested stacks, because the `freshq` command gets the name of
 * that stack. The command finds them by name, so each name must be unique in a stack.
 */
export function addOutputs(queue: IConstruct, outputs: Outputs<string>): void {
  const stack = topStackOf(queue);
  for (const [name, [value, description]] of Object.entries(outputs)) {
    if (stack.node.tryFindChild(name) !== undefined) {
      throw new Error(
        `${queue.node.path} cannot export its outputs: the stack ${stack.stackName} already has ${name}, which freshq uses to find a queue. ` +
          'Remedy: export the outputs once, and of one queue of each kind per stack.',
      );
    }
    new CfnOutput(stack, name, { value, description });
  }
}

function topStackOf(construct: IConstruct): Stack {
  const stack = Stack.of(construct);
  return stack.nestedStackParent === undefined ? stack : topStackOf(stack.nestedStackParent);
}
