import { App } from 'aws-cdk-lib';
import { CiRolesStack } from './ci-roles-stack';
import { readCiSettings } from './ci-settings';

const app = new App();
new CiRolesStack(app, { settings: readCiSettings((key) => app.node.tryGetContext(key)) });
app.synth();
