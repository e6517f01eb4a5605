import { App } from 'aws-cdk-lib';
import { QuotesStack } from '../lib/quotes-stack';

const app = new App();
new QuotesStack(app, 'Quotes');
app.synth();
