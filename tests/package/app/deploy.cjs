const { App, Duration, RemovalPolicy, Stack } = require('aws-cdk-lib');
const { RetentionDays } = require('aws-cdk-lib/aws-logs');
const { AgentQueue, LifoQueue, ShedQueue, TaskRunner } = require('freshq');

// Uses the stack names and construct ids of this repository's `dev` environment.
const app = new App();
const removalPolicy = RemovalPolicy.DESTROY;
const logs = { retention: RetentionDays.ONE_WEEK };

const tasks = new Stack(app, 'LifoQueue-dev');
const shedTasksTo = new ShedQueue(tasks, 'shed-tasks', { removalPolicy });
const runner = TaskRunner.simulated({ capacity: 10, duration: Duration.millis(250) });
const settings = { runner, ingest: { iotPresence: true }, shedTasksTo, removalPolicy, logs };
new LifoQueue(tasks, 'queue', { ...settings, deletionProtection: false, pointInTimeRecovery: false }).exportOutputs();

const agents = new Stack(app, 'AgentQueue-dev');
const unprotected = { deletionProtection: false, pointInTimeRecovery: false };
new AgentQueue(agents, 'queue', { seed: true, removalPolicy, logs, ...unprotected }).exportOutputs();
app.synth();
