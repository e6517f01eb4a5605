import { App } from 'aws-cdk-lib';
import { chooseEnvironments } from './environment-rules';
import { AgentQueueStack } from './stacks/agent-queue-stack';
import { LifoQueueStack } from './stacks/lifo-queue-stack';

const app = new App();
for (const environment of chooseEnvironments(app.node.tryGetContext('env'))) {
  new LifoQueueStack(app, { environment });
  new AgentQueueStack(app, { environment });
}
app.synth();
