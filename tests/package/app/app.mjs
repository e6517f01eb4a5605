import { App, Stack } from 'aws-cdk-lib';
import { LifoQueue, TaskRunner } from 'freshq';

const app = new App();
const stack = new Stack(app, 'Quotes');
new LifoQueue(stack, 'quotes', { runner: TaskRunner.simulated() }).exportOutputs();
app.synth();
