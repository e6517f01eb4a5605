import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

const lambda = new LambdaClient();

/** Creates one task per symbol in `{"symbols":["ABC", …]}` and returns the response of create-tasks. */
export async function handler({ symbols }) {
  const tasks = symbols.map((symbol) => ({ payload: { symbol } }));
  const { FunctionError, Payload } = await lambda.send(
    new InvokeCommand({
      FunctionName: process.env.CREATE_TASKS_FUNCTION,
      Payload: JSON.stringify({ tasks }),
    }),
  );
  const response = Buffer.from(Payload).toString();
  if (FunctionError) throw new Error(`create-tasks failed: ${response}`);
  return JSON.parse(response);
}
