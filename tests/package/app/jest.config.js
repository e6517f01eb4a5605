module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test', '<rootDir>/page'],
  testMatch: ['**/*.test.ts'],
  transform: { '^.+\\.tsx?$': 'ts-jest' },
};
