import { App } from 'aws-cdk-lib';
import { QuotesStack } from './quotes-stack';

const app = new App();
new QuotesStack(app, 'Quotes', { quotesUrl: 'https://quotes.example.com/refresh' });
app.synth();
