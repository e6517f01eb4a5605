import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';

const tasks = ['ACME', 'EMCA'].map((symbol) => ({
  taskId: `refresh-${symbol}`,
  payload: { symbol },
  ttlSeconds: 60,
}));
const response = await new SQSClient().send(
  new SendMessageBatchCommand({
    QueueUrl: process.env.INGEST_QUEUE_URL,
    Entries: tasks.map((task, index) => ({ Id: String(index), MessageBody: JSON.stringify(task) })),
  }),
);
// SQS may accept only a part of a batch. Send the others again: their ids exist once.
if (response.Failed?.length) throw new Error(JSON.stringify(response.Failed));
