const { App, Stack } = require('aws-cdk-lib');
const { AgentQueue } = require('freshq');

const app = new App();
const stack = new Stack(app, 'Quotes');
new AgentQueue(stack, 'agents').exportOutputs();
app.synth();
