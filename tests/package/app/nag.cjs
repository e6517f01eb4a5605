const { App, Stack, Validations } = require('aws-cdk-lib');
const { PolicyStatement, Role, ServicePrincipal } = require('aws-cdk-lib/aws-iam');
const { Queue } = require('aws-cdk-lib/aws-sqs');
const { AwsSolutionsChecks } = require('cdk-nag');
const { AgentQueue, LifoQueue, TaskRunner } = require('freshq');

const app = new App();
const stack = new Stack(app, 'Quotes');
new LifoQueue(stack, 'quotes', { runner: TaskRunner.simulated() });
new AgentQueue(stack, 'agents');
new Queue(stack, 'open');
const role = new Role(stack, 'role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
role.addToPolicy(new PolicyStatement({ actions: ['s3:*'], resources: ['*'] }));
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
app.synth();
