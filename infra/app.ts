import { App } from 'aws-cdk-lib';
import { ENVIRONMENTS, withIotPresence } from './environments/list';
import { chooseEnvironments } from './environments/rules';
import { AgentQueueStack } from './stacks/agent-queue-stack';
import { LifoQueueStack } from './stacks/lifo-queue-stack';

const app = new App();
const [env, name, iotPresence] = ['env', 'name', 'iotPresence'].map((key) => app.node.tryGetContext(key));
const chosen = chooseEnvironments(env, ENVIRONMENTS, name);
for (const environment of iotPresence === 'true' ? chosen.map(withIotPresence) : chosen) {
  new LifoQueueStack(app, { environment });
  new AgentQueueStack(app, { environment });
}
app.synth();
