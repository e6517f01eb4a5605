import { App } from 'aws-cdk-lib';
import { chooseEnvironments } from './environment-rules';
import { ENVIRONMENTS } from './environments';
import { AgentQueueStack } from './stacks/agent-queue-stack';
import { LifoQueueStack } from './stacks/lifo-queue-stack';

const app = new App();
const [env, name] = ['env', 'name'].map((key) => app.node.tryGetContext(key));
for (const environment of chooseEnvironments(env, ENVIRONMENTS, name)) {
  new LifoQueueStack(app, { environment });
  new AgentQueueStack(app, { environment });
}
app.synth();
