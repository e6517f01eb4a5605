import { App } from 'aws-cdk-lib';
import { ENVIRONMENTS, withIotPresence, withUnreliableRunner } from './environments/list';
import { chooseEnvironments } from './environments/rules';
import { AgentQueueStack } from './stacks/agent-queue-stack';
import { LifoQueueStack } from './stacks/lifo-queue-stack';

const app = new App();
const context = (key: string) => app.node.tryGetContext(key);
let environments = chooseEnvironments(context('env'), ENVIRONMENTS, context('name'));
if (context('iotPresence') === 'true') environments = environments.map(withIotPresence);
if (context('unreliable') === 'true') environments = environments.map(withUnreliableRunner);
for (const environment of environments) {
  new LifoQueueStack(app, { environment });
  new AgentQueueStack(app, { environment });
}
app.synth();
