/** Infrastructure tests: TypeScript is only stripped here (swc); `npm run lint` checks the types. */
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/tests/infra'],
  testMatch: ['**/*.test.ts'],
  moduleNameMapper: { '^freshq$': '<rootDir>/infra/index.ts' },
  setupFiles: ['<rootDir>/tests/infra/setup.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }],
  },
};
