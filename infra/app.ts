import { App } from 'aws-cdk-lib';
import { chooseEnvironments } from './environment-rules';
import { LifoQueueStack } from './stacks/lifo-queue-stack';

const app = new App();
for (const environment of chooseEnvironments(app.node.tryGetContext('env'))) {
  new LifoQueueStack(app, { environment });
}
app.synth();
