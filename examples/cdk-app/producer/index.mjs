import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

const lambda = new LambdaClient();

/** Puts one task into the queue for each symbol of `{"symbols":["ABC", …]}`; answers what create-tasks answered. */
export async function handler({ symbols }) {
  const tasks = symbols.map((symbol) => ({ payload: { symbol } }));
  const { FunctionError, Payload } = await lambda.send(
    new InvokeCommand({
      FunctionName: process.env.CREATE_TASKS_FUNCTION,
      Payload: JSON.stringify({ tasks }),
    }),
  );
  const answer = Buffer.from(Payload).toString();
  if (FunctionError) throw new Error(`create-tasks failed: ${answer}`);
  return JSON.parse(answer);
}
