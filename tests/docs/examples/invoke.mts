import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

interface Report {
  created: { index: number; taskId: string }[];
  duplicates: { index: number; taskId: string }[];
  outdated?: { index: number; taskId: string }[];
  failed: { index: number; taskId?: string; error: string; retryable: boolean }[];
}

const tasks = [{ taskId: 'quote-17', payload: { symbol: 'ACME' }, ttlSeconds: 60 }];
const response = await new LambdaClient().send(
  new InvokeCommand({
    FunctionName: process.env.CREATE_TASKS_FUNCTION_NAME,
    Payload: JSON.stringify({ tasks }),
  }),
);
const text = Buffer.from(response.Payload ?? []).toString();
if (response.FunctionError) throw new Error(text); // the request is malformed, or the function failed
const report: Report = JSON.parse(text);
for (const { index, error, retryable } of report.failed) {
  console.error(`task ${index}: ${error}${retryable ? '; send it again' : ''}`);
}
console.log(report.created.map(({ taskId }) => taskId).join('\n'));
