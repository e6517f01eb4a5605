/** Infrastructure tests: TypeScript is only stripped here (swc); `npm run lint` checks the types. */
module.exports = {
  testEnvironment: 'node',
  // Jest leaves one core free by default, which on two cores means one test file at a time.
  maxWorkers: '100%',
  roots: ['<rootDir>/tests/infra', '<rootDir>/tests/language', '<rootDir>/tests/docs'],
  testMatch: ['**/*.test.ts'],
  moduleNameMapper: {
    '^freshq$': '<rootDir>/infra/index.ts',
    '^freshq/testing$': '<rootDir>/infra/testing.ts',
  },
  setupFiles: ['<rootDir>/tests/infra/setup.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }],
  },
};
