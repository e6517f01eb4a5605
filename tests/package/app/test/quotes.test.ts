import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { QuotesStack } from '../lib/quotes-stack';

test('the stack has both queues', () => {
  const template = Template.fromStack(new QuotesStack(new App(), 'Quotes'));
  template.resourceCountIs('AWS::DynamoDB::Table', 2);
});
